// What a page without a script cannot do: open the widget without leaving, reload while history is being read, load
// more rows at the end of the page, and name the day under the pointer. Everything else works without it.

document.addEventListener('click', async ({ target }) => {
  const display = target.closest?.('[data-open]')?.dataset.open
  if (display === undefined) return
  const answer = await fetch('/connect/request', { method: 'POST' })
  const { loader, request } = await answer.json()
  const loaded = await import(loader).catch(() => undefined)
  // A widget's host that does not allow other origins to import its loader can still be redirected to.
  if (loaded === undefined) return location.assign('/connect')
  const { openConnect } = loaded
  const event = await openConnect(request, { display }).finished
  // The widget could not open a window or frame, so use the redirect, which always works.
  if (event.type === 'error') openConnect(request)
  if (event.type !== 'result') return
  // Continues like after a redirect: our server checks state and issuer and redeems the code.
  location.assign(
    `/callback?${new URLSearchParams(Object.entries(event.result).filter(([, value]) => value !== null))}`,
  )
})

const lookAgainMs = 1500
if (document.body.hasAttribute('data-live')) setTimeout(lookAgain, lookAgainMs)

async function lookAgain() {
  const answer = await fetch(location.href).catch(() => undefined)
  // The service may be starting again. What is shown stays until an answer replaces it.
  if (answer?.ok !== true) return setTimeout(lookAgain, lookAgainMs)
  const next = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const focused = document.activeElement?.getAttribute('href')
  document.querySelector('main').replaceWith(next.querySelector('main'))
  // The person may be in the middle of the page with the keyboard.
  if (focused) document.querySelector(`main a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true })
  watchEnd()
  if (next.body.hasAttribute('data-live')) setTimeout(lookAgain, lookAgainMs)
}

const nearEnd = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && readOn(), {
  rootMargin: '600px',
})
watchEnd()

function watchEnd() {
  nearEnd.disconnect()
  const more = document.querySelector('.more')
  if (more !== null) nearEnd.observe(more)
}

// Rows are only ever added below, so that nothing a person looks at moves.
async function readOn() {
  const more = document.querySelector('.more')
  const link = more.querySelector('a')
  nearEnd.disconnect()
  link.textContent = 'Loading …'
  const answer = await fetch(link.href).catch(() => undefined)
  // The person can still click the link.
  if (answer?.ok !== true) {
    link.textContent = 'Show older'
    return
  }
  const table = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('.transactions')
  const last = more.previousElementSibling
  for (const body of table.querySelectorAll('tbody')) {
    if (body.dataset.day !== undefined && body.dataset.day === last?.dataset.day) {
      body.querySelector('.day').remove()
      last.append(...body.children)
    } else {
      more.before(body)
    }
  }
  more.remove()
  watchEnd()
}

document.addEventListener('pointermove', ({ target, clientX }) => {
  const chart = target.closest?.('.chart')
  for (const output of document.querySelectorAll('.chart output')) {
    if (output.closest('.chart') !== chart) output.textContent = ''
  }
  if (chart === null || chart === undefined) return
  const days = JSON.parse(chart.dataset.days)
  const { left, width } = chart.querySelector('svg').getBoundingClientRect()
  const at = Math.round(Math.min(1, Math.max(0, (clientX - left) / width)) * (days.length - 1))
  chart.querySelector('output').textContent = days[at].join(': ')
})
