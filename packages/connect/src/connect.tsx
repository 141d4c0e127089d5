/** Entry of index.html and callback/index.html. */
import { render } from 'preact'
import { loadConfig } from './config.ts'
import { followFrame, isFramed, proveParent, sendMessage, sendToClaimedOrigin, toError } from './flow/embedding.ts'
import { openFlow } from './flow/start.ts'
import { toStopReason } from './flow/stop-reason.ts'
import { applyLook } from './look.ts'
import { IconsProvider } from './parts/icons.tsx'
import { ConnectApp } from './screens/app.tsx'
import { Handover } from './screens/handover.tsx'
import { Stopped } from './screens/stopped.tsx'
import './style/index.css'
import { loadSpeech, SpeechProvider } from './texts/index.ts'

const root = document.getElementById('root')
if (root !== null) void open(root)

async function open(root: HTMLElement): Promise<void> {
  const asked = new URLSearchParams(location.search)
  applyLook(undefined, asked.get('theme'))
  sendToClaimedOrigin(location.search, { type: 'loaded' })
  try {
    const config = await loadConfig()
    applyLook(config.look, asked.get('theme'))
    const opening = await openFlow(config)
    if (opening.kind === 'left') return
    const session = opening.kind === 'flow' ? opening.start.session : undefined
    if (session !== undefined) followFrame(session, root, (await proveParent(session)).fitsContent)
    // A stopped page has no session that could vouch for the parent.
    else if (isFramed()) return
    applyLook(config.look, session?.theme ?? null)
    const speech = await loadSpeech([session?.lang ?? asked.get('lang') ?? '', ...navigator.languages])
    document.documentElement.lang = speech.language
    render(
      <SpeechProvider value={speech}>
        {opening.kind === 'flow' ? (
          <IconsProvider value={config.base_url}>
            <ConnectApp config={config} api={opening.api} start={opening.start} />
          </IconsProvider>
        ) : opening.kind === 'asked' ? (
          <Handover asker={opening.asker} decide={opening.decide} />
        ) : (
          <Stopped reason={opening.reason} client={opening.client} display="page" />
        )}
      </SpeechProvider>,
      root,
    )
    if (session !== undefined) sendMessage(session, { type: 'ready' })
  } catch (error) {
    sendToClaimedOrigin(asked.toString(), toError(toStopReason(error)))
    if (isFramed()) return
    const speech = await loadSpeech(navigator.languages)
    render(
      <SpeechProvider value={speech}>
        <Stopped reason={toStopReason(error)} client={null} display="page" />
      </SpeechProvider>,
      root,
    )
  }
}
