import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDatabaseAway } from './away.ts'

const coded = (code: string, more: object = {}): Error => Object.assign(new Error('x'), { code }, more)

test('a refused, reset or missing connection means that the database is away', () => {
  for (const code of [
    'ECONNREFUSED',
    'ECONNRESET',
    'EPIPE',
    'EAI_AGAIN',
    '57P01',
    '57P02',
    '57P03',
    '57P05',
    '53300',
    '53100',
    '08000',
    '08001',
    '08003',
    '08006',
    '08P01',
  ]) {
    assert.equal(isDatabaseAway(coded(code)), true, code)
  }
  assert.equal(isDatabaseAway(coded('ENOENT', { syscall: 'connect' })), true)
  for (const message of [
    'Connection terminated unexpectedly',
    'timeout exceeded when trying to connect',
    'timeout expired',
    'There was an error establishing an SSL connection',
  ]) {
    assert.equal(isDatabaseAway(new Error(message)), true, message)
  }
})

test('a wrong statement, a conflict, a cancelled statement and a missing file do not mean that the database is away', () => {
  for (const code of ['42601', '23505', '40001', '57014', '0A000'])
    assert.equal(isDatabaseAway(coded(code)), false, code)
  assert.equal(isDatabaseAway(coded('ENOENT', { syscall: 'open' })), false)
  assert.equal(isDatabaseAway(new Error('something else')), false)
  assert.equal(isDatabaseAway('ECONNREFUSED'), false)
})

test('a host with several addresses is unreachable when none of them answers', () => {
  assert.equal(isDatabaseAway(new AggregateError([coded('ECONNREFUSED'), coded('ENETUNREACH')])), true)
  assert.equal(isDatabaseAway(new AggregateError([coded('ECONNREFUSED'), coded('42601')])), false)
  assert.equal(isDatabaseAway(new AggregateError([])), false)
})

test('a cluster is away when one of its nodes dies during a statement, a prepare or a commit, but not for other internal errors', () => {
  const internal = (message: string): Error => Object.assign(new Error(message), { code: 'XX000' })
  for (const message of [
    'failure on connection marked as essential: 10.0.0.7:5432',
    'could not commit transaction for shard 102008 on at least one active node',
    "failed to prepare transaction 'citus_0_42_7_1' on host 10.0.0.7:5432",
    'execution cannot recover from multiple connection failures. Last node failed 10.0.0.7:5432',
    'postmaster was shut down, exiting',
    'server closed the connection unexpectedly\n\tThis probably means the server terminated abnormally',
    'SSL connection has been closed unexpectedly',
    'could not receive data from server: Connection reset by peer',
    'no connection to the server',
  ]) {
    assert.equal(isDatabaseAway(internal(message)), true, message)
  }
  for (const message of ['cache lookup failed for relation 7', 'could not open shard 7', 'unexpected chunk number']) {
    assert.equal(isDatabaseAway(internal(message)), false, message)
  }
})
