/** Starts the application with settings from the environment. Every setting has a value that fits a local sandbox. */
import path from 'node:path'
import { startApplication } from './server.ts'

const { env } = process
const port = env['PORT'] ?? '3000'
const ownUrl = env['OWN_URL'] ?? `http://127.0.0.1:${port}`
const assayUrl = env['ASSAY_URL'] ?? 'http://127.0.0.1:4000'

const { url } = await startApplication({
  port: parseInt(port, 10),
  ownUrl,
  baseUrl: assayUrl,
  authUrl: env['AUTH_URL'] ?? assayUrl,
  widgetUrl: env['WIDGET_URL'] ?? `${assayUrl}/connect`,
  clientId: required('CLIENT_ID'),
  clientSecret: required('CLIENT_SECRET'),
  webhookSecret: required('WEBHOOK_SECRET'),
  directory: env['DATA_DIRECTORY'] ?? path.join(import.meta.dirname, 'data'),
})
process.stdout.write(`The example listens on ${url}\n`)

function required(name: string): string {
  const value = env[name]
  if (value === undefined || value === '') throw new Error(`set ${name}; README.md says where it comes from`)
  return value
}
