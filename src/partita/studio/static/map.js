// The map: zoom, search, and the lines of the entity under the pointer.
const drawings = [...document.querySelectorAll('.drawing')]
const tools = document.querySelector('[data-map-tools]')
if (tools) {
  tools.hidden = false
  let zoom = 1
  const apply = () => {
    for (const each of drawings) {
      each.setAttribute('width', each.dataset.width * zoom)
      each.setAttribute('height', each.dataset.height * zoom)
    }
  }
  for (const button of tools.querySelectorAll('[data-zoom]')) {
    button.addEventListener('click', () => {
      const step = Number(button.dataset.zoom)
      if (step) zoom = Math.min(3, Math.max(0.3, zoom * (step > 0 ? 1.25 : 0.8)))
      else zoom = Math.min(...drawings.map((each) => (each.parentElement.clientWidth - 2) / each.dataset.width))
      apply()
    })
  }
  tools.querySelector('[data-map-search]').addEventListener('input', (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean)
    for (const node of document.querySelectorAll('.drawing [data-text]')) {
      node.classList.toggle('missed', !words.every((word) => node.dataset.text.includes(word)))
    }
  })
  for (const node of document.querySelectorAll('.drawing .node[data-entity]')) {
    const lines = document.querySelectorAll(`.drawing .link[data-entity="${CSS.escape(node.dataset.entity)}"]`)
    const light = (on) => lines.forEach((each) => each.classList.toggle('lit', on))
    node.parentElement.addEventListener('pointerenter', () => light(true))
    node.parentElement.addEventListener('pointerleave', () => light(false))
    node.parentElement.addEventListener('focus', () => light(true))
    node.parentElement.addEventListener('blur', () => light(false))
  }
}
