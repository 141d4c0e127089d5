/** What `assay start` prints when everything runs. */
export interface Running {
  url: string
  widgetUrl: string
  demoUrl: string
  /** Where the messages of the sandbox's tenant go: to the demo application, unless the developer chose a receiver. */
  webhookUrl: string
}

export function toWelcome({ url, widgetUrl, demoUrl, webhookUrl }: Running, token: string): string {
  const isOwnReceiver = webhookUrl !== `${demoUrl}/webhooks`
  return `
Assay is ready.

  Demo application  ${demoUrl}          connect an account and look at it, as a user would
  API documents     ${url}/docs     (OpenAPI: ${url}/openapi/v2.json and v1.json)
  Your accounts     ${widgetUrl.replace(/\/+$/, '')}/manage?client_id=cli_demo
  Webhook events    ${webhookUrl}${isOwnReceiver ? '     (your receiver; the demo application gets none)' : ''}
  Test scenarios    ${url}/sandbox/scenarios

Read the demo user's holdings (the token lives for 15 minutes; a restart prints a new one):

  curl -H 'Authorization: Bearer ${token}' ${url}/platform/v1/assets; echo

Ctrl-C stops everything; the data stays.`
}

export interface LiveSecrets {
  demo: string
  enterprise: string
}

export function toLiveWelcome({ url, widgetUrl, demoUrl }: Running, secrets: LiveSecrets): string {
  return `
Assay is ready, with the real providers. It has called none of them, and calls a provider only when you give it a key.

  1. Open ${demoUrl} and connect an account. Use a key that can only read.
  2. The sign-in code appears in this terminal: no mail is sent.
  3. The provider's own page shows how to make such a key; the form says where it is.

  API documents     ${url}/docs
  Your accounts     ${widgetUrl.replace(/\/+$/, '')}/manage?client_id=cli_demo     (disconnecting destroys the key and the data)
  Hosts it calls    npx assay hosts

The applications of this installation have new secrets since this start:

  cli_demo          ${secrets.demo}
  cli_enterprise    ${secrets.enterprise}

Ctrl-C stops everything; the data stays.`
}
