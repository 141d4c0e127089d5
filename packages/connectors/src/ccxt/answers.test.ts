import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SourceError } from '@assay/core'
import { refuseError } from './answers.ts'

function isBelieved(call: string, answer: unknown): boolean {
  try {
    refuseError(call, answer)
    return true
  } catch (error) {
    assert.ok(error instanceof SourceError)
    return false
  }
}

describe('a message without rows', () => {
  const isEmptyList = (message: string): boolean => isBelieved('fetchMyTrades', { message, data: null })
  const isEmptyAccount = (message: string): boolean => isBelieved('fetchBalance', { message, data: null })

  for (const message of [
    ...['OK', 'Ok.', 'none', 'NO_ERROR', 'No error', 'succ', 'SUCCESS', 'Request successful', 'Successfully fetched'],
    ...['Success, unified account', 'success until 2027', '成功', '查询成功'],
  ]) {
    it(`reports success: ${message}`, () => {
      assert.deepEqual([isEmptyList(message), isEmptyAccount(message)], [true, true])
    })
  }

  for (const message of [
    ...['Request cannot be completed successfully', "The request wasn't successful", 'The request wasn’t successful'],
    ...["Upstream call couldn't be completed successfully", 'Error: no successful response from backend'],
    ...['request unsuccessful', 'No success', 'never succeeded', 'Unable to complete successfully'],
    ...['Failed to log in successfully', 'OK? upstream error', 'OK 失败', 'No data 失败', 'No error page found'],
    ...['请求不成功', '操作未成功', '没有成功', '失败: 上次成功'],
    ...['No data received from upstream', 'No data source available', 'No transactions service'],
    ...['User data not found', 'Account history not found', 'Account not found', 'Service unavailable'],
  ]) {
    it(`reports an error: ${message}`, () => {
      assert.deepEqual([isEmptyList(message), isEmptyAccount(message)], [false, false])
    })
  }

  for (const message of [
    ...['No data', 'No data.', 'no records found', 'No deposit history', 'No trades available', 'No order found.'],
    ...['Records not found', 'Transactions were not found', 'History not found!'],
  ]) {
    it(`reports that a list is empty, and nothing about balances: ${message}`, () => {
      assert.deepEqual([isEmptyList(message), isEmptyAccount(message)], [true, false])
    })
  }
})

describe('an answer without rows', () => {
  for (const answer of [
    ...['{"success":false}', '{"success":false,"data":null}', '{"success":0}', '{"ok":false}', '{"error":true}'],
    ...['{"title":"Service Unavailable","status":503}', '{"fault":{"faultstring":"upstream"}}', '{"code":500}'],
    ...['{"code":503,"description":"backend down"}', '{"code":"502","data":null}', '{"statusCode":429}'],
    ...['{"status":"maintenance"}', '{"status":"UNAVAILABLE"}', '{"result":"error"}', '{"code":"INTERNAL_ERROR"}'],
    ...['{"meta":{"error":"x"}}', '{"errors":[{"message":"x"}]}', '{"exception":"NullPointerException"}', '"busy"'],
    ...['{"message":"No data","error":"upstream failed"}', '{"code":14,"message":"unavailable","details":[]}'],
    ...['{"message":"Service unavailable","trace":["a.b.c"]}', '{"statusCode":400,"customMessage":["Bad"],"data":{}}'],
  ]) {
    it(`reports an error: ${answer}`, () => {
      const parsed: unknown = JSON.parse(answer)
      assert.deepEqual([isBelieved('fetchMyTrades', parsed), isBelieved('fetchBalance', parsed)], [false, false])
    })
  }

  for (const answer of [
    ...['[]', '{}', 'null', '{"data":null}', '{"trades":null}', '{"error":[]}', '{"error":null,"result":{}}'],
    ...['{"code":0,"data":null}', '{"code":200,"data":null}', '{"code":"00000","msg":"success","data":null}'],
    ...['{"success":true,"data":{}}', '{"success":1}', '{"status":"ok","data":null}', '{"code":"NO_ERROR"}'],
    ...['{"error":false}'],
  ]) {
    it(`is empty: ${answer}`, () => {
      const parsed: unknown = JSON.parse(answer)
      assert.deepEqual([isBelieved('fetchMyTrades', parsed), isBelieved('fetchBalance', parsed)], [true, true])
    })
  }

  it('is an empty list if its message says so, whatever its code says', () => {
    const answer = { code: 404, success: false, msg: 'No records found' }
    assert.deepEqual([isBelieved('fetchMyTrades', answer), isBelieved('fetchBalance', answer)], [true, false])
  })
})

describe('an empty list', () => {
  for (const answer of [
    ...['{"success":false,"code":503,"message":"Service temporarily unavailable","data":[]}'],
    ...['{"success":false,"data":[]}', '{"success":0,"data":[]}', '{"data":{"list":[]},"status":"maintenance"}'],
    ...['{"message":"Service unavailable","result":[]}', '{"code":502,"data":[]}'],
    // ccxt quotes these as errors of P2B, BTSE, WhiteBIT, Bitbns and OKX.
    ...['{"success":false,"errorCode":1010,"message":"This action is unauthorized.","result":[]}'],
    ...['{"code":-11,"msg":"System error","success":false,"time":1,"data":[]}'],
    ...['{"success":false,"message":{"side":["Validation failed"]},"result":[]}'],
    ...['{"data":[],"status":0,"error":"Something went wrong","code":417}', '{"code":"4088","data":[],"msg":"x"}'],
    ...['{"success":true,"error":"upstream failed","data":[]}', '{"error":"busy","code":0,"data":[]}'],
    // A code of success does not outweigh words that name an error either.
    ...['{"code":0,"message":"Service temporarily unavailable, please try again later","data":[]}'],
    ...['{"code":200,"msg":"System busy","data":[]}', '{"errCode":"500","errMsg":"System error","data":[]}'],
    ...['{"retCode":10016,"retMsg":"Server error","result":{"list":[]}}'],
    ...['{"code":0,"errors":{"market":["unknown"]},"data":[]}', '{"success":true,"data":[],"error":{"code":500}}'],
  ]) {
    it(`does not outweigh a sign of an error beside it: ${answer}`, () => {
      const parsed: unknown = JSON.parse(answer)
      assert.deepEqual([isBelieved('fetchMyTrades', parsed), isBelieved('fetchBalance', parsed)], [false, false])
    })
  }

  for (const answer of [
    ...['[]', '{"data":[]}', '{"records":[],"total":0,"limit":100,"offset":0}', '{"error":[],"result":{"list":[]}}'],
    ...['{"code":"0","data":[],"msg":""}', '{"code":"00000","msg":"success","data":[]}', '{"code":200,"data":[]}'],
    ...['{"retCode":0,"retMsg":"OK","result":{"list":[]},"retExtInfo":{}}', '{"status":"0000","data":[]}'],
    ...['{"code":0,"message":"OK","data":[],"pagination":{"has_next":false}}', '{"success":1,"return":{"trades":[]}}'],
    ...['{"rc":0,"mc":"SUCCESS","ma":[],"result":{"items":[]}}', '{"error":false,"errorMessage":null,"data":[]}'],
    ...['{"success":true,"errorCode":"","message":"","result":[]}', '{"ok":true,"result":{"count":0,"trades":[]}}'],
  ]) {
    it(`is empty: ${answer}`, () => {
      const parsed: unknown = JSON.parse(answer)
      assert.deepEqual([isBelieved('fetchMyTrades', parsed), isBelieved('fetchBalance', parsed)], [true, true])
    })
  }

  it('is empty beside a message in words of its own, if a flag or a code reports success', () => {
    for (const sign of [{ success: true }, { ok: 1 }, { status: 'ok' }, { result: 'success' }, { code: '00000' }]) {
      const answer = { ...sign, message: 'Trade history retrieved', data: [] }
      assert.deepEqual([isBelieved('fetchMyTrades', answer), isBelieved('fetchBalance', answer)], [true, true])
      assert.equal(isBelieved('fetchMyTrades', { ...answer, data: null }), false)
    }
  })

  it('is empty if the message says so, whatever the code says', () => {
    const answer = { data: [], status: 0, error: 'Nothing to show', code: 417 }
    assert.deepEqual([isBelieved('fetchMyTrades', answer), isBelieved('fetchBalance', answer)], [true, false])
  })
})
