/** The one page of the application, as a string. Everything from outside is escaped. */
import type { AssetPosition, ConnectedProvider, ConnectRequest, ErrorItem } from '@assay/sdk'

export interface View {
  request: ConnectRequest
  redirectUrl: string
  /** The user's own page, where they see what was read and end the consent. */
  manageUrl: string
  portfolio:
    | {
        holdings: readonly AssetPosition[]
        errors: readonly ErrorItem[]
        connections: readonly ConnectedProvider[]
        news: string | undefined
      }
    | undefined
}

export function toPage({ request, redirectUrl, manageUrl, portfolio }: View): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>Assay example</title>
    <style>
      :root { color-scheme: light dark }
      body { font: 1rem/1.5 system-ui; max-width: 40rem; margin: 2rem auto; padding: 0 1rem }
      code { overflow-wrap: anywhere }
      table { display: block; overflow-x: auto }
      td, th { padding: 0 1rem 0 0; text-align: left }
    </style>
    <script type="module" src="/page.js"></script>
  </head>
  <body data-request="${escape(JSON.stringify(request))}">
    <main>
      <h1>Your crypto accounts</h1>
      <p>
        <button data-open="popup">Connect in a window</button>
        <button data-open="iframe">Connect on this page</button>
        <a href="${escape(redirectUrl)}">Connect by redirect</a>
      </p>
      <p id="problem" role="alert"></p>
      ${portfolio === undefined ? '<p>Nothing is connected yet.</p>' : toPortfolio(portfolio, manageUrl)}
    </main>
  </body>
</html>`
}

function toPortfolio(
  { holdings, errors, connections, news }: NonNullable<View['portfolio']>,
  manageUrl: string,
): string {
  return `
    <h2>Connections</h2>
    <ul>${connections.map(toConnection).join('')}</ul>
    ${errors.map(({ message }) => `<p>${escape(message)}</p>`).join('')}
    <h2>Holdings</h2>
    <table>
      <thead><tr><th>Asset</th><th>Amount</th><th>Value in USD</th></tr></thead>
      <tbody>${holdings.map(toRow).join('')}</tbody>
    </table>
    <p>Last message from Assay: ${escape(news ?? 'none yet')}</p>
    <form method="post" action="/refresh"><button>Read again now</button></form>
    <p><a href="${escape(manageUrl)}">See what was read, or end our access</a></p>
    <form method="post" action="/sign-out"><button>Sign out</button></form>`
}

/** A connection that needs its owner has a button that opens the widget at its repair. */
function toConnection({ name, status, connection_id }: ConnectedProvider): string {
  const repair = `<button data-open="popup" data-connection="${escape(connection_id)}">Repair</button>`
  return `<li data-status="${escape(status)}">
    ${escape(name)}: ${escape(status)} <code>${escape(connection_id)}</code> ${status === 'needs_reauth' ? repair : ''}
  </li>`
}

/** `exact` has every digit as text; a price that is not known is null, and never 0. */
function toRow({ asset_symbol, exact, value_in_usd }: AssetPosition): string {
  const cells = [asset_symbol, exact.total_holdings, value_in_usd ?? 'not known']
  return `<tr>${cells.map((cell) => `<td>${escape(cell)}</td>`).join('')}</tr>`
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
