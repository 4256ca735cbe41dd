// Saved queries: names and addresses in this browser alone. All state of a page is in its address.
const KEY = 'partita-queries'
const read = () => { try { return JSON.parse(localStorage.getItem(KEY)) || [] } catch { return [] } }
const write = (queries) => { try { localStorage.setItem(KEY, JSON.stringify(queries)) } catch { /* no storage */ } }

function show() {
  const place = document.getElementById('saved-queries')
  if (!place) return
  const here = document.body.dataset.design
  const queries = read().filter((each) => typeof each.path === 'string' && each.path.startsWith(`${here}/`))
  place.hidden = !queries.length
  place.querySelector('ul').replaceChildren(...queries.map((each) => {
    const line = document.createElement('li')
    const link = document.createElement('a')
    link.href = each.path
    link.textContent = each.name
    const remove = document.createElement('button')
    remove.type = 'button'
    remove.className = 'quiet'
    remove.textContent = 'Remove'
    remove.setAttribute('aria-label', `Remove the saved query ${each.name}`)
    remove.addEventListener('click', () => {
      write(read().filter((other) => other.path !== each.path))
      show()
    })
    line.append(link, remove)
    return line
  }))
}

for (const button of document.querySelectorAll('[data-save-query]')) {
  button.addEventListener('click', () => {
    const form = button.closest('form')
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ''))
    if (button.dataset.saveRun !== 'no') query.set('run', '1')
    const path = `${new URL(form.action).pathname}?${query}`
    const name = prompt('Name of the query', button.dataset.saveQuery)
    if (!name) return
    write([...read().filter((each) => each.path !== path), { name, path }])
    button.textContent = 'Saved'
    setTimeout(() => { button.textContent = 'Save query' }, 1500)
  })
}
show()
