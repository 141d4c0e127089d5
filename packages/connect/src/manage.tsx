/** Entry of manage/index.html. */
import { render } from 'preact'
import { loadConfig } from './config.ts'
import { toStopReason } from './flow/stop-reason.ts'
import { applyLook } from './look.ts'
import { openManage } from './manage/start.ts'
import { ManageApp } from './manage/app.tsx'
import { IconsProvider } from './parts/icons.tsx'
import { Stopped } from './screens/stopped.tsx'
import './style/index.css'
import { loadSpeech, SpeechProvider } from './texts/index.ts'

const root = document.getElementById('root')
// A click removes an account here, so no other page may overlay this one.
if (root !== null && window.parent === window) void open(root)

async function open(root: HTMLElement): Promise<void> {
  const asked = new URLSearchParams(location.search)
  applyLook(undefined, asked.get('theme'))
  const speech = await loadSpeech([asked.get('lang') ?? '', ...navigator.languages])
  document.documentElement.lang = speech.language
  const opening = await loadConfig()
    .then(async (config) => {
      applyLook(config.look, asked.get('theme'))
      return { ...(await openManage(config.auth_url)), baseUrl: config.base_url }
    })
    .catch((error: unknown) => ({ reason: toStopReason(error) }))
  render(
    <SpeechProvider value={speech}>
      {'reason' in opening ? (
        <Stopped reason={opening.reason} client={null} display="page" />
      ) : (
        <IconsProvider value={opening.baseUrl}>
          <ManageApp {...opening} />
        </IconsProvider>
      )}
    </SpeechProvider>,
    root,
  )
}
