import { createHash } from 'node:crypto';
import { readBody, replyJson, startServer } from './http.ts';

/** A server with `/v1/embeddings` of OpenAI's API, whose model knows a few words that mean the same. */
export interface FakeEmbeddings extends AsyncDisposable {
  /** Ends with `/v1`. */
  readonly url: string;
  /** The texts of each request. */
  readonly asked: readonly (readonly string[])[];
  /** The Authorization headers. */
  readonly keys: ReadonlySet<string | undefined>;
  /** Answers with this HTTP status from now on; 200: with vectors. */
  status: number;
  /** Texts that it answers with `refusal`. */
  refuses: RegExp | null;
  /** @default 400 “not today” */
  refusal: { readonly status: number; readonly message: string };
  /** Numbers of a vector, where the request does not say. */
  dimensions: number;
  /** The usage of its answers; undefined: what the texts take. */
  usage: unknown;
  /** Called before each answer, which waits for it. */
  onRequest: () => Promise<void> | void;
}

/** Each line is one meaning. */
const MEANINGS = `
  dentist tooth teeth drilled zahnarzt 牙医
  car vehicle auto wagen inspection
  milk dairy yoghurt
  married wedding chapel marry
  luggage suitcase
`
  .trim()
  .split('\n')
  .map((line) => line.trim().split(' '));

export async function startFakeEmbeddings(): Promise<FakeEmbeddings> {
  const asked: (readonly string[])[] = [];
  const keys = new Set<string | undefined>();
  const server = await startServer(async (request, response) => {
    const body = JSON.parse(await readBody(request)) as { input: string | string[]; dimensions?: number };
    const texts = typeof body.input === 'string' ? [body.input] : body.input;
    keys.add(request.headers.authorization);
    asked.push(texts);
    await fake.onRequest();
    const refused = fake.refuses !== null && texts.some((text) => fake.refuses?.test(text));
    const { status, message } = refused ? fake.refusal : { status: fake.status, message: 'not today' };
    if (status !== 200) {
      replyJson(response, status, { error: { message } });
      return;
    }
    const size = body.dimensions ?? fake.dimensions;
    const data = texts.map((text, index) => ({ object: 'embedding', index, embedding: vectorOf(text, size) }));
    const tokens = texts.join(' ').split(/\s+/u).length;
    replyJson(response, 200, {
      object: 'list',
      model: 'fake',
      data,
      usage: fake.usage === undefined ? { prompt_tokens: tokens, total_tokens: tokens } : fake.usage,
    });
  });
  const fake: FakeEmbeddings = {
    url: `${server.url}/v1`,
    asked,
    keys,
    status: 200,
    refuses: null,
    refusal: { status: 400, message: 'not today' },
    dimensions: 1_024,
    usage: undefined,
    onRequest: () => {},
    [Symbol.asyncDispose]: () => server.close(),
  };
  return fake;
}

/** A meaning points in one direction; any other word in one of its own, and little. */
function vectorOf(text: string, size: number): number[] {
  const vector = Array.from({ length: size }, (): number => 0);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const meaning = MEANINGS.findIndex((words) => words.includes(word));
    const hash = createHash('sha256').update(word).digest().readUInt32LE();
    const at = meaning >= 0 ? meaning : MEANINGS.length + (hash % (size - MEANINGS.length));
    vector[at] = (vector[at] ?? 0) + (meaning >= 0 ? 1 : 0.2);
  }
  if (Math.max(...vector) === 0) vector[size - 1] = 1;
  return vector;
}
