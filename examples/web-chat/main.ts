import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { createAssistant, definePlugin, z } from 'assistantd';

const PAGE = `<!doctype html><meta charset="utf-8"><title>Chat</title><h1>Ask us</h1><div id="log"></div>
<form><input name="text" size="60" autofocus><button>Send</button></form>
<script type="module">
const visitor = crypto.randomUUID();
document.forms[0].onsubmit = async (event) => {
  event.preventDefault();
  const text = event.target.text.value;
  event.target.reset();
  const line = document.querySelector('#log').appendChild(document.createElement('p'));
  const answer = await fetch('/chat', { method: 'POST', body: JSON.stringify({ visitor, text }) });
  let rest = '';
  for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split('\\n');
    rest = lines.pop();
    for (const one of lines) line.textContent = JSON.parse(one).text;
  }
};
</script>`;

const asked = z.object({ visitor: z.string().regex(/^[\w-]{1,40}$/u), text: z.string().min(1).max(2_000) });

// A guard: should it fail, the message is refused.
const house = definePlugin({
  name: 'house rules',
  guard: true,
  hooks: {
    admit: ({ text }) => (/password/iu.test(text) ? { type: 'deny', reason: 'Never send us a password.' } : undefined),
  },
});

await using assistant = await createAssistant({
  home: join(import.meta.dirname, 'home'),
  config: { log: { level: 'error' } },
  plugins: [house],
});

async function chat(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const piece of request) if (body.length < 10_000) body += String(piece);
  const { visitor, text } = asked.parse(JSON.parse(body));
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  response.writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8' });
  const say = (line: object): unknown => response.write(`${JSON.stringify(line)}\n`);
  // Strangers write here: no tools, little time, and never a text that is a command.
  const options = { session: `web-${visitor}`, tools: [], timeoutMs: 60_000, retries: 1, signal: gone.signal };
  for await (const event of assistant.stream(`A visitor asks: ${text}`, options)) {
    if (event.type === 'text') say({ text: event.text });
    if (event.type === 'turn-end') say({ text: event.result.text, error: event.result.errorKind });
  }
  response.end();
}

const server = createServer((request, response) => {
  const { origin, host = '' } = request.headers;
  const isOwn = origin === undefined || origin === `http://${host}`;
  if (request.method === 'GET' && request.url === '/') {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(PAGE);
  } else if (request.method === 'POST' && request.url === '/chat' && isOwn) {
    chat(request, response).catch(() => (response.headersSent ? response.end() : response.writeHead(400).end()));
  } else {
    response.writeHead(404).end();
  }
});
server.listen(Number(process.env['PORT'] ?? 8080), '127.0.0.1', () => {
  const address = server.address();
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
});
await new Promise((resolve) => process.once('SIGTERM', resolve).once('SIGINT', resolve));
server.close();
server.closeAllConnections();
