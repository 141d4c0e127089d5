// Opens the connect widget in a window or in a frame of this page. The loader comes from the widget's own host. It is
// loaded before the click, because a browser blocks a window that does not open at once.
const request = JSON.parse(document.body.dataset.request)
const { openConnect } = await import(`${request.widgetUrl.replace(/\/$/, '')}/loader.js`)

document.addEventListener('click', async ({ target }) => {
  const { open: display, connection: connectionId } = target.closest('[data-open]')?.dataset ?? {}
  if (display === undefined) return
  const wanted = connectionId === undefined ? request : { ...request, connectionId }
  const last = await openConnect(wanted, { display }).finished
  // The code goes to our server, which compares state and issuer and has the verifier and the secret.
  if (last.type === 'result') {
    const given = Object.entries(last.result).filter(([, value]) => value !== null)
    location.assign(`/callback?${new URLSearchParams(given)}`)
  }
  if (last.type === 'error') document.querySelector('#problem').textContent = `${last.code}: ${last.message}`
})
document.body.dataset.ready = ''
