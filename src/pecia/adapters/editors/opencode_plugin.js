// Written by `pecia init --hooks`; `pecia init --undo` removes it.
import { spawn } from "node:child_process"

const PECIA = "@PECIA@"
const LIMIT_MS = 20000

function run(name, payload) {
  return new Promise((resolve) => {
    let out = ""
    const words = ["hook", name, "--client", "opencode"]
    const child = spawn(PECIA, words, { stdio: ["pipe", "pipe", "ignore"], timeout: LIMIT_MS })
    child.on("error", () => resolve(""))
    child.on("close", () => resolve(out))
    child.stdout.on("data", (part) => { out += part })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(payload))
  })
}

export const Pecia = async ({ client, directory }) => {
  const recalled = new Map()
  return {
    "experimental.chat.system.transform": async (input, output) => {
      const id = input.sessionID ?? ""
      if (!recalled.has(id)) recalled.set(id, run("recall", { session_id: id, cwd: directory }))
      const text = await recalled.get(id)
      if (text) output.system.push(text)
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle") return
      const id = event.properties.sessionID
      const found = await client.session.messages({ path: { id } })
      const said = (found.data ?? []).filter((it) => it.info.role === "user")
      const messages = said.map((it) =>
        it.parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n"),
      )
      await run("capture", { session_id: id, messages })
    },
  }
}
