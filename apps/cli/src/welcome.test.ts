import assert from 'node:assert/strict'
import { it } from 'node:test'
import { toWelcome } from './welcome.ts'

it('the welcome names the manage page of the widget, wherever that is hosted', () => {
  const running = {
    url: 'http://127.0.0.1:4000',
    demoUrl: 'http://127.0.0.1:4100',
    widgetUrl: 'http://127.0.0.1:5000/',
  }
  assert.match(toWelcome(running, 'token'), /Your accounts {5}http:\/\/127\.0\.0\.1:5000\/manage\?client_id=cli_demo/)
})
