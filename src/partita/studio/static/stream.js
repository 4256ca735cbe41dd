// The stream: changes as they come, the newest first, and the partition keys that are written most.
const place = document.querySelector('[data-stream]')
if (place) {
  const rows = document.getElementById('stream-rows')
  const keys = document.getElementById('stream-keys')
  const state = document.getElementById('stream-state')
  const counts = new Map()
  let total = 0
  const source = new EventSource(place.dataset.stream)
  source.addEventListener('open', () => { if (!total) state.textContent = 'Connected. Waiting for changes.' })
  source.addEventListener('error', () => { state.textContent = 'Not connected; trying again.' })
  source.addEventListener('change', (message) => {
    const change = JSON.parse(message.data)
    total += 1
    state.textContent = `${total} changes seen.`
    rows.prepend(row(change))
    while (rows.childElementCount > 200) rows.lastElementChild.remove()
    if (counts.size < 10000 || counts.has(change.partition)) {
      counts.set(change.partition, (counts.get(change.partition) || 0) + 1)
    }
    const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 10)
    keys.replaceChildren(...most.map(([key, count]) => item(`${key}: ${count}`)))
  })
  addEventListener('pagehide', () => source.close())

  function item(text) {
    const line = document.createElement('li')
    const isolated = document.createElement('bdi')
    isolated.textContent = text
    line.append(isolated)
    return line
  }
  function cell(content) {
    const found = document.createElement('td')
    found.append(content)
    return found
  }
  function row(change) {
    const line = document.createElement('tr')
    const link = document.createElement('a')
    link.href = change.url
    link.textContent = change.key
    const chip = document.createElement('span')
    chip.className = change.colour < 0 ? 'chip other' : `chip e${change.colour}`
    chip.textContent = change.entity
    line.append(cell(change.at), cell(change.kind), cell(chip), cell(link), cell(change.changed.join(', ')))
    return line
  }
}
