import assert from 'node:assert/strict'
import { it } from 'node:test'
import { toWelcome } from './welcome.ts'

const running = {
  url: 'http://127.0.0.1:4000',
  demoUrl: 'http://127.0.0.1:4100',
  widgetUrl: 'http://127.0.0.1:5000/',
  webhookUrl: 'http://127.0.0.1:4100/webhooks',
}

it('the welcome names the manage page of the widget, wherever that is hosted', () => {
  assert.match(toWelcome(running, 'token'), /Your accounts {5}http:\/\/127\.0\.0\.1:5000\/manage\?client_id=cli_demo/)
})

it('the welcome names the address that receives webhooks, and says when it is not the demo application', () => {
  assert.match(toWelcome(running, 'token'), /Webhook events {4}http:\/\/127\.0\.0\.1:4100\/webhooks$/m)
  const own = toWelcome({ ...running, webhookUrl: 'http://127.0.0.1:3000/webhooks' }, 'token')
  assert.match(own, /Webhook events {4}http:\/\/127\.0\.0\.1:3000\/webhooks {5}\(your receiver/)
})
