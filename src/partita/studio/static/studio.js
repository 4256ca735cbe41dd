// What a page does with scripts: theme, keys, the finder, filters, copying, and saved queries. Pages work without it.
import './map.js'
import './queries.js'
import './stream.js'

const root = document.documentElement
const body = document.body
const all = (selector, within = document) => [...within.querySelectorAll(selector)]
const store = {
  get: (name) => { try { return localStorage.getItem(name) } catch { return null } },
  set: (name, value) => { try { localStorage.setItem(name, value) } catch { /* a browser without storage */ } },
}

for (const each of all('[data-open], [data-theme-toggle], [data-copy], [data-filter], [data-save-query]')) each.hidden = false

// On a narrow screen the pages are one row that scrolls: the current one is in sight.
const current = document.querySelector('.side [aria-current]')
if (current) current.closest('ul').scrollLeft = current.offsetLeft - current.closest('ul').offsetLeft - 40

// Theme: a cookie, so that the server sends the page as it was chosen.
function toggleTheme() {
  const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  root.dataset.theme = dark ? 'light' : 'dark'
  document.cookie = `partita-theme=${root.dataset.theme}; path=${body.dataset.root || '/'}; max-age=31536000; samesite=lax`
}
for (const button of all('[data-theme-toggle]')) button.addEventListener('click', toggleTheme)

// Dialogs
for (const button of all('[data-open]')) {
  const dialog = document.getElementById(button.dataset.open)
  if (!dialog) { button.hidden = true; continue }
  button.addEventListener('click', () => open(dialog))
}
function open(dialog) {
  if (!dialog || dialog.open) return
  dialog.showModal()
  dialog.dispatchEvent(new Event('opened'))
}
for (const dialog of all('dialog')) {
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close() })
}

// Copying
for (const button of all('[data-copy]')) {
  button.addEventListener('click', async () => {
    const text = button.closest('.code').querySelector('pre').textContent
    try { await navigator.clipboard.writeText(text); button.textContent = 'Copied' } catch { button.textContent = 'Not allowed' }
    setTimeout(() => { button.textContent = 'Copy' }, 1500)
  })
}

// Filters of lists
for (const input of all('[data-filter]')) {
  const rows = all('[data-filtered] > [data-text]')
  const nothing = document.querySelector('[data-filter-nothing]')
  input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    let shown = 0
    for (const row of rows) {
      row.hidden = !words.every((word) => row.dataset.text.includes(word))
      shown += row.hidden ? 0 : 1
    }
    if (nothing) nothing.hidden = shown > 0
  })
}

// The finder: pages, entities and patterns of the design, from its JSON view.
const finder = document.getElementById('finder')
if (finder) {
  const input = finder.querySelector('input')
  const list = document.getElementById('finder-list')
  const nothing = document.getElementById('finder-nothing')
  let entries = null
  finder.addEventListener('opened', async () => {
    input.value = ''
    entries ??= await load()
    show()
  })
  input.addEventListener('input', show)
  finder.addEventListener('keydown', (event) => {
    const links = all('a', list)
    const at = links.indexOf(document.activeElement)
    if (event.key === 'ArrowDown') { links[Math.min(at + 1, links.length - 1)]?.focus(); event.preventDefault() }
    if (event.key === 'ArrowUp') { (at > 0 ? links[at - 1] : input).focus(); event.preventDefault() }
    if (event.key === 'Enter' && document.activeElement === input) { links[0]?.click(); event.preventDefault() }
  })
  async function load() {
    const base = body.dataset.design
    const found = all('.side a').map((link) => ({ text: link.firstChild.textContent, kind: 'page', href: link.href }))
    const reply = await fetch(`${base}.json`)
    if (!reply.ok) return found
    const design = await reply.json()
    for (const each of design.entities) {
      const query = new URLSearchParams({ table: each.table, entity: each.name })
      found.push({ text: each.name, kind: 'entity', href: `${base}/items?${query}` })
    }
    for (const each of design.patterns) found.push({ text: each, kind: 'pattern', href: `${base}/patterns/${each}` })
    return found
  }
  function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    const matching = (entries || []).filter((each) => words.every((word) => each.text.toLowerCase().includes(word)))
    list.replaceChildren(...matching.slice(0, 30).map((each) => {
      const line = document.createElement('li')
      const link = document.createElement('a')
      const kind = document.createElement('small')
      link.href = each.href
      link.textContent = each.text
      kind.textContent = each.kind
      link.append(kind)
      line.append(link)
      return line
    }))
    nothing.hidden = matching.length > 0
  }
}

// Keys: `g` and a letter opens a page. They can be switched off (WCAG 2.1.4).
const KEYS = { o: '', m: 'map', p: 'patterns', i: 'items', x: 'search', q: 'partiql', s: 'stream', h: 'health', e: 'staged' }
const useShortcuts = document.getElementById('use-shortcuts')
if (useShortcuts) {
  useShortcuts.checked = store.get('partita-keys') !== 'off'
  useShortcuts.addEventListener('change', () => store.set('partita-keys', useShortcuts.checked ? 'on' : 'off'))
}
let afterG = 0
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !useShortcuts?.checked) return
  if (event.target.closest('input, textarea, select, dialog')) return
  const key = event.key
  if (performance.now() - afterG < 1500 && key in KEYS && body.dataset.design !== body.dataset.root) {
    location.href = KEYS[key] ? `${body.dataset.design}/${KEYS[key]}` : body.dataset.design
  } else if (key === 'g') {
    afterG = performance.now()
    return
  } else if (key === '/') {
    open(finder)
    event.preventDefault()
  } else if (key === '?') {
    open(document.getElementById('shortcuts'))
  } else if (key === 't') {
    toggleTheme()
  }
  afterG = 0
})

// A file is read here, so that the form sends its text.
for (const input of all('[data-reads-into]')) {
  input.hidden = false
  input.addEventListener('change', async () => {
    if (input.files[0]) document.getElementById(input.dataset.readsInto).value = await input.files[0].text()
  })
}

// The check for no value and a value exclude each other.
for (const box of all('[data-null-of]')) {
  const control = document.getElementById(box.dataset.nullOf)
  let text = ''
  control.addEventListener('input', () => { box.checked = false })
  box.addEventListener('change', () => { [text, control.value] = [control.value, box.checked ? '' : text] })
}

// Forms that destroy something ask first.
for (const form of all('form[data-confirm]')) {
  form.addEventListener('submit', (event) => { if (!confirm(form.dataset.confirm)) event.preventDefault() })
}
