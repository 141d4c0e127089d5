/** What `assay start` prints when everything runs. */
export interface Running {
  url: string
  widgetUrl: string
  demoUrl: string
}

export function toWelcome({ url, widgetUrl, demoUrl }: Running, token: string): string {
  return `
Assay is ready.

  Demo application  ${demoUrl}          connect an account and look at it, as a user would
  API documents     ${url}/docs     (OpenAPI: ${url}/openapi/v2.json and v1.json)
  Your accounts     ${widgetUrl.replace(/\/+$/, '')}/manage?client_id=cli_demo
  Webhook events    ${demoUrl}/webhooks
  Test scenarios    ${url}/sandbox/scenarios

Read the demo user's holdings (the token lives for 15 minutes; a restart prints a new one):

  curl -H 'Authorization: Bearer ${token}' ${url}/platform/v1/assets

Ctrl-C stops everything; the data stays.`
}
