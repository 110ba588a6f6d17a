import { questionsTo, rootOf, serverId, versionIn, type WindowQuestion } from '../../core/api-providers.ts';
import { deadline, z } from '../../core/api.ts';

const DEADLINE_MS = 2_000;

/**
 * Asks a server with OpenAI's API how many tokens a model reads: how many it is loaded with, else how many it could be. Null
 * when the server does not say so in time. Never throws.
 */
export async function askWindow(
  question: WindowQuestion,
  elsewhere: () => Promise<number | null>,
): Promise<number | null> {
  using limit = deadline(question.clock, question.deadlineMs ?? DEADLINE_MS, 'asking for the context window');
  const { model, baseUrl } = question;
  const root = rootOf(baseUrl);
  const { get, tell } = questionsTo(question, limit.signal);
  const places = [
    `${baseUrl.replace(/\/+$/u, '')}/models`,
    `${root}/api/v0/models`,
    `${root}/props`,
    `${root}/version`,
  ];
  const [[list, own, props, version], running] = await Promise.all([
    Promise.all(places.map((place) => get(place))),
    // A server with an API of its own may speak OpenAI's too, whose list says nothing of windows.
    elsewhere(),
  ]);
  const rows = [list, own].flatMap((answer) => listedRow(answer, model));
  tell({ id: serverIn(rows, props, version), hasTools: hasTools(props) });
  const loaded = [...rows.map(loadedWindow), propsWindow(props), running];
  return loaded.find((tokens) => tokens != null) ?? largestWindow(rows);
}

const tokens = z.int().positive();

/** A model in a list. vLLM, SGLang and others say how many tokens it is served with, LM Studio how many it was loaded with. */
const listed = z.looseObject({
  id: z.string(),
  loaded_context_length: tokens.nullish().catch(null),
  max_model_len: tokens.nullish().catch(null),
  max_context_length: tokens.nullish().catch(null),
  context_length: tokens.nullish().catch(null),
  context_window: tokens.nullish().catch(null),
  /** llama.cpp: the window that it was started with. */
  root: z.string().nullish().catch(null),
  meta: z.looseObject({ n_ctx: tokens.optional() }).nullish().catch(null),
});
type Listed = z.output<typeof listed>;

/** The model's own row; the only one of a server that has a single model, no matter which one it is asked for. */
function listedRow(answer: unknown, model: string): readonly Listed[] {
  // Some servers answer with the bare list.
  const { data } = z.union([z.array(z.unknown()), z.object({ data: z.array(z.unknown()) })]).safeParse(answer);
  const rows = (Array.isArray(data) ? data : (data?.data ?? [])).flatMap((row) => listed.safeParse(row).data ?? []);
  const found = rows.find(({ id }) => id === model) ?? (rows.length === 1 ? rows[0] : undefined);
  return found === undefined ? [] : [found];
}

function loadedWindow(row: Listed): number | undefined {
  return row.loaded_context_length ?? row.max_model_len ?? row.meta?.n_ctx ?? undefined;
}

/** What tells one server and model from others: its version, the model's file and template, the window that it was loaded with. */
function serverIn(rows: readonly Listed[], props: unknown, version: unknown): string {
  const text = z.string().optional().catch(undefined);
  const {
    build_info: build,
    model_path: path,
    chat_template: template,
  } = z.object({ build_info: text, model_path: text, chat_template: text }).catch({}).parse(props);
  const of = rows.map((row) => [row.meta, row.root, loadedWindow(row)]);
  return serverId([build, path, template, propsWindow(props), versionIn(version), ...of.flat()]);
}

/** llama.cpp says so of the model's template; it answers all the same, without the tools. */
function hasTools(props: unknown): boolean {
  const caps = z.looseObject({ chat_template_caps: z.looseObject({ supports_tools: z.boolean() }) });
  return caps.safeParse(props).data?.chat_template_caps.supports_tools !== false;
}

/** What llama.cpp says of one slot. */
function propsWindow(answer: unknown): number | undefined {
  const props = z.looseObject({ default_generation_settings: z.looseObject({ n_ctx: tokens }) });
  return props.safeParse(answer).data?.default_generation_settings.n_ctx;
}

function largestWindow(rows: readonly Listed[]): number | null {
  for (const { max_context_length: most, context_length: length, context_window: window } of rows) {
    const found = most ?? length ?? window;
    if (found != null) return found;
  }
  return null;
}
