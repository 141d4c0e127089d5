import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { refuseMessage } from './answers.ts'

function isRefused(call: string, message: string): boolean {
  try {
    refuseMessage(call, { message, data: null })
    return false
  } catch {
    return true
  }
}

describe('a message without rows', () => {
  const isEmptyList = (message: string): boolean => !isRefused('fetchMyTrades', message)
  const isEmptyAccount = (message: string): boolean => !isRefused('fetchBalance', message)

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
