/** The frame of every Northwind page. */
import { html, type Html } from '../html.ts'

export interface PageParts {
  title: string
  body: Html
  /** The header's right side. */
  actions?: Html
  /** Reloads automatically while data is being read. */
  live?: boolean
}

export function layout({ title, body, actions, live = false }: PageParts): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/style.css">
<link rel="stylesheet" href="/charts.css">
<script type="module" src="/page.mjs"></script>
</head>
<body${live && html` data-live`}>
<header class="top"><a class="brand" href="/"><img src="/icon.svg" alt="" width="24" height="24">Northwind</a>${actions}</header>
<main>${body}</main>
</body>
</html>
`.html
}
