// Two things a page without a script cannot do: open the widget without leaving, and look again while history is read.

for (const button of document.querySelectorAll('[data-open]')) {
  button.addEventListener('click', async () => {
    const answer = await fetch('/connect/request', { method: 'POST' })
    const { loader, request } = await answer.json()
    const { openConnect } = await import(loader)
    const { finished } = openConnect(request, { display: button.dataset.open })
    const event = await finished
    if (event.type !== 'result') return
    // The same way as after a redirect: our server checks state and issuer and redeems the code.
    location.assign(
      `/callback?${new URLSearchParams(Object.entries(event.result).filter(([, value]) => value !== null))}`,
    )
  })
}

const lookAgainMs = 1500
if (document.body.hasAttribute('data-live')) setTimeout(lookAgain, lookAgainMs)

async function lookAgain() {
  const answer = await fetch(location.href).catch(() => undefined)
  if (answer?.ok !== true) return
  const next = new DOMParser().parseFromString(await answer.text(), 'text/html')
  document.querySelector('main').replaceWith(next.querySelector('main'))
  if (next.body.hasAttribute('data-live')) setTimeout(lookAgain, lookAgainMs)
}
