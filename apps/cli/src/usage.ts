/** The usage of each command, printed by `--help` and after a wrong call. */
export const usage = {
  start: `Usage: assay start [--port <port>] [--demo-port <port>] [--data <directory>] [--fresh | --live]

--live reads real accounts instead of simulated ones, with its data in ./live-data. See docs/guides/live.md.
--fresh forgets all users and sets the sandbox clock to real time; applications and webhooks stay.`,
  serve: `Usage: assay serve [--role api|worker|all] [--port <port>] [--processes <number>]

--processes is for --role api: so many processes share the port and the limits on requests. See docs/scale.md.`,
  worker: `Usage: assay worker

The same as assay serve --role worker: reads providers and prices, sends mail and webhooks. Run at least one.`,
  init: `Usage:
  assay init [<directory>] --base-url <https://…> [--database-url <postgres://…>]
             --tenant <name> --client <name> --redirect-uri <uri> [--json]

The directory is ./assay-config unless named. At a terminal it asks for what is left out. The address of the database is
taken from DATABASE_URL without the option, which would show a password to every user of the machine.`,
  migrate: `Usage: assay migrate [--check] [--json]

Brings the database schema up to date, as every start does. --check changes nothing and exits with 1 if it is behind.`,
  cluster: `Usage: assay cluster distribute [--apply] [--json]

Says where each table would lie on the Citus cluster whose coordinator DATABASE_URL names; --apply moves them. The
service is stopped meanwhile. The next run continues one that was interrupted. See docs/scale.md.`,
  status: `Usage: assay status [--json]

Shows workers, the queue, and connections by state, cause and grade.`,
  hosts: `Usage: assay hosts [--json]

Lists every host that the service may call for providers and prices, and what for.`,
  doctor: `Usage: assay doctor [--production] [--json]

Says whether this installation is sound and what to do where it is not. --production also checks
addresses, mail and metrics.`,
  keys: `Usage: assay keys generate [--name <name>] [--json] | assay keys rotate [--forget-lost] [--json]
       assay keys withdraw [--json]

To rotate: make keys of another name, put each first in its setting with the old ones behind it, restart every
process, then run assay keys rotate. When it is done the old sealing keys may leave. See docs/guides/operate.md.

--forget-lost is for keys that are lost forever: it deletes what keeps users from connecting accounts again.

withdraw is for a server key that has leaked, once it has left ASSAY_SERVER_KEYS of every process: claims that it
signed no longer verify.`,
  ledger: `Usage:
  assay ledger replay [--connection con_… | --provider <id>] [--apply] [--json]
  assay ledger findings|apply|discard [--connection con_… | --provider <id>] [--json]`,
  stats: 'Usage: assay stats verify [--json] | assay stats rebuild [--json]',
  prices: 'Usage: assay prices correct <asset_id> <YYYY-MM-DD> <US dollars for one>',
  backup: 'Usage: assay backup <file> [--with-key] [--data <directory>] [--json]',
  restore: 'Usage: assay restore <file> [--replace] [--data <directory>] [--json]',
  webhook: `Usage:
  assay webhook set <tenant_id> <url> [--json]
  assay webhook remove <tenant_id> [--json]
  assay webhook test <tenant_id> [--json]                  sends a message of type webhook.test
  assay webhook log <tenant_id> [--json]                   the last 50 messages and their outcomes
  assay webhook resend <tenant_id> <message_id> [--json]   sends one of them again, with the same webhook-id

Beside the sandbox (npm start), run these with ASSAY_MODE=sandbox. See docs/guides/register.md.`,
  audit: `Usage:
  assay audit export <tenant_id>|installation
  assay audit verify [<tenant_id>|installation] [--head <position>:<hash>] [--json]`,
  tenant: 'Usage: assay tenant create <name> [--json] | assay tenant list [--json]',
  client: `Usage:
  assay client create <tenant_id> <name> --redirect-uri <uri> [--redirect-uri …] [--scope "…"] [--embed-origin <origin>]
                      [--public] [--enterprise] [--strict] [--s256-only] [--require-code-verifier]
                      [--confirm-first-consent] [--confirm-every-consent] [--json]
  assay client update <client_id> [--name <name>] [--redirect-uri <uri> …] [--embed-origin <origin> …] [--scope "…"]
                      [--[no-]strict] [--[no-]s256-only] [--[no-]require-code-verifier]
                      [--[no-]confirm-first-consent] [--[no-]confirm-every-consent] [--json]
  assay client list <tenant_id> [--json]
  assay client rotate-secret <client_id> [--overlap <seconds>] [--json]
  assay client add-login-key <client_id> <jwk-file> [--json]
  assay client list-login-keys <client_id> [--json]
  assay client remove-login-key <client_id> <key_id> [--json]
  assay client disable <client_id> [--json]

Beside the sandbox (npm start), run these with ASSAY_MODE=sandbox. See docs/guides/register.md.`,
} as const
