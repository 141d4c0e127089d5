/** The look of a provider's sign-in pages, apart from its colours: both themes, one column, a 4 px grid. */
export const style = `
:root {
  color-scheme: light dark;
  --ground: #f3f5f8; --card: #ffffff; --ink: #131c2b; --quiet: #566173; --line: #dbe1ea;
  --accent: #1d4ed8; --on-accent: #ffffff; --chosen: #eef3ff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0c1119; --card: #151c27; --ink: #e9edf4; --quiet: #a3aebf; --line: #2a3444;
    --accent: #8fb2ff; --on-accent: #0c1119; --chosen: #1b2740;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; padding: 24px 16px; background: var(--ground); color: var(--ink);
  font: 16px/24px system-ui, sans-serif;
}
header, main, footer { max-width: 520px; margin: 0 auto; }
header { display: flex; align-items: baseline; gap: 8px; padding: 0 4px 16px; }
.name { font-weight: 700; font-size: 18px; letter-spacing: -0.01em; }
.tag { padding: 0 8px; border: 1px solid var(--line); border-radius: 12px; color: var(--quiet); font-size: 13px; line-height: 22px; }
main { padding: 32px; background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
h1 { margin: 0 0 16px; font-size: 24px; line-height: 32px; letter-spacing: -0.01em; text-wrap: balance; }
p { margin: 0; }
ul { margin: 4px 0 24px; padding-left: 20px; }
fieldset { margin: 0; padding: 0; border: 0; }
legend { padding: 0; margin-bottom: 8px; font-weight: 600; }
label {
  display: flex; gap: 12px; padding: 12px 16px; border: 1px solid var(--line); margin-top: -1px; cursor: pointer;
}
label:first-of-type { border-radius: 8px 8px 0 0; }
label:last-of-type { border-radius: 0 0 8px 8px; }
label:has(:checked) { background: var(--chosen); }
label strong { display: block; font-weight: 600; }
label small { display: block; color: var(--quiet); font-size: 14px; line-height: 20px; }
input[type="radio"] { flex: none; width: 16px; height: 16px; margin: 4px 0; accent-color: var(--accent); }
.decision { display: flex; gap: 12px; margin: 24px 0; }
button {
  flex: 1; min-height: 44px; padding: 8px 16px; border: 1px solid var(--accent); border-radius: 8px;
  background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 600; cursor: pointer;
}
button.second { background: transparent; border-color: var(--line); color: var(--ink); }
button:hover { filter: brightness(1.08); }
button.second:hover { border-color: var(--quiet); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.aside, footer { color: var(--quiet); font-size: 14px; line-height: 20px; }
h1 + p + .aside { margin-top: 16px; }
footer { padding: 16px 4px; }
@media (max-width: 480px) {
  body { padding: 16px 12px; }
  main { padding: 24px 16px; }
}
`
