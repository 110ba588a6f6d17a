import * as z from 'zod';
import { API_CHANNEL } from '../bus/api.ts';
import { labelButton } from '../bus/buttons.ts';
import { FROM, parseChat, UNTRUSTED, type Media, type OutboundMessage } from '../bus/messages.ts';
import type { Origins } from '../bus/origins.ts';
import { spokenToo } from '../bus/speech.ts';
import type { ToolSpec } from '../providers/provider.ts';
import { atLeast } from '../security/access/access.ts';
import { escapeControlChars } from '../security/text/control-characters.ts';
import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import { callerOf, openAllowed, readWhole } from '../files/access.ts';
import { errorResult } from './registry/result.ts';
import {
  defineTool,
  showsInGroup,
  type ChatAddress,
  type DeclaredAction,
  type EffectTarget,
  type Planned,
  type Tool,
  type ToolContext,
  type ToolResult,
} from './tool.ts';
import { basename, extname } from 'node:path';
import type { PathGuard } from '../security/paths/open-inside.ts';

interface MediaSource {
  readonly guard: PathGuard;
  /** Keeps a copy, so that what is sent later is what was meant now; returns its absolute path. */
  readonly keep: (bytes: Uint8Array) => Promise<string>;
}

const TYPES: Readonly<Record<string, Pick<Media, 'kind' | 'mediaType'>>> = {
  '.png': { kind: 'image', mediaType: 'image/png' },
  '.jpg': { kind: 'image', mediaType: 'image/jpeg' },
  '.jpeg': { kind: 'image', mediaType: 'image/jpeg' },
  '.webp': { kind: 'image', mediaType: 'image/webp' },
  '.ogg': { kind: 'audio', mediaType: 'audio/ogg' },
  '.oga': { kind: 'audio', mediaType: 'audio/ogg' },
  '.mp3': { kind: 'audio', mediaType: 'audio/mpeg' },
  '.mp4': { kind: 'video', mediaType: 'video/mp4' },
};

const OTHER = { kind: 'document', mediaType: 'application/octet-stream' } as const;

export interface MessageOptions extends MediaSource {
  /** Why nothing can be sent to a channel; null when it can. */
  readonly obstacle: (channel: string) => string | null;
  /** Queues them durably, all or none; where the id of the first is known, all are the same messages. */
  readonly publish: (messages: readonly OutboundMessage[]) => Promise<void>;
  /** Which files go to a channel as one message, in their order. */
  readonly album: (channel: string, files: readonly Media[]) => readonly (readonly Media[])[];
  /** Whether voice messages can be sent to a channel. */
  readonly speaks: (channel: string) => boolean;
  readonly clock: Pick<Clock, 'now'>;
  readonly origins: Origins;
}

/** An undelivered message expires after this many ms. */
const TTL_MS = 24 * 3_600_000;
const LONGEST = 20_000;
const MOST_BUTTONS = 10;
const MOST_FILES = 10;
/** With the sign before it a platform takes no more bytes than 64. */
const LONGEST_LABEL_BYTES = 60;

const parameters = z.object({
  text: z.string().trim().max(LONGEST).describe('The message, written like your answers.'),
  chat: z
    .string()
    .trim()
    .min(1)
    .optional()
    .describe('Another chat, named as in <context>, e.g. telegram:12345 (owner only). Default: this chat.'),
  media: z
    .array(z.string().min(1))
    .max(MOST_FILES)
    .optional()
    .describe(`Paths of files to send after the text, at most ${MOST_FILES}, e.g. ["report.pdf"]. Default: none.`),
  buttons: z
    .array(z.string().trim().min(1))
    .max(MOST_BUTTONS)
    .optional()
    .describe(
      `Up to ${MOST_BUTTONS} buttons of up to ${LONGEST_LABEL_BYTES} bytes, e.g. ["Yes", "No"]. A press sends you its label as a message. Default: none.`,
    ),
  voice: z
    .boolean()
    .optional()
    .describe('True speaks it too, if asked for; the text "" speaks your answer. Default: false.'),
});
type Params = z.infer<typeof parameters>;

/** Creates the tool that sends a message during a turn, here or, for the owner, to another chat. */
export function messageTool(options: MessageOptions): Tool {
  return defineTool({
    name: 'message',
    fits: 'small',
    withheldFrom: ['subagent'],
    description:
      'Send a message while you still work, files, or to another chat. Do not use it for your answer; to ask and wait use ask_user.',
    parameters,
    // The outbox knows its id, so a second start after a crash sends nothing twice.
    effect: 'idempotent',
    plan: async (params, context): Promise<Planned> => {
      const about = targets(params, context);
      const denied = await refusal(params, options, context);
      if (denied !== null) return { denied, about };
      return {
        run: (signal) => send(params, options, { ...context, signal }),
        reaches: reached(params, context),
        about,
      };
    },
  });
}

function targets({ chat, media = [] }: Params, context: ToolContext): readonly EffectTarget[] {
  const { chat: here } = context.person;
  const target = chat ?? (here === null ? 'this chat' : nameOf(here));
  // What it did not say here, the answer can.
  return [{ kind: 'message', target, ...(isElsewhere(chat, context) || media.length > 0 ? {} : { minor: true }) }];
}

/** Why nothing may be sent; null: it may. */
async function refusal(
  { chat, media = [] }: Params,
  { origins, guard }: MessageOptions,
  context: ToolContext,
): Promise<string | null> {
  const { role, origin, chat: here } = context.person;
  if (isElsewhere(chat, context)) {
    if (!atLeast(role, 'owner')) return 'Only the owner may have something sent to another chat.';
  } else if (here?.channel === API_CHANNEL) {
    return 'a program reads your answer and nothing else; put this into your last text.';
  } else if (origins.of(origin).isReport === true) {
    return 'your last text is sent to the owner without this tool if it is worth telling.';
  }
  for (const path of media) {
    try {
      using place = await guard.openInside(path, 'read', callerOf(context));
      if (place.asks !== null) return `${path} is not sent: ${place.asks}`;
    } catch (error) {
      return `${path} is not sent: ${errorMessage(error)}`;
    }
  }
  return null;
}

function reached(
  { chat, text, media = [], buttons = [], voice = false }: Params,
  context: ToolContext,
): DeclaredAction | undefined {
  if (!isElsewhere(chat, context)) {
    return media.length === 0 ? undefined : showsInGroup(escapeControlChars(media.join('\n')));
  }
  const all = [text, ...media, ...buttons.map((label) => `[${label}]`), ...(voice ? ['(also spoken)'] : [])].join('\n');
  return {
    action: { kind: 'message-other-chat' },
    title: 'Send a message to another chat',
    detail: `to ${escapeControlChars(chat ?? '')}:\n${escapeControlChars(all)}`,
  };
}

async function send(
  { text: written, chat, buttons: labels = [], media = [], voice = false }: Params,
  options: MessageOptions,
  context: ToolContext,
): Promise<ToolResult> {
  const target = chat === undefined ? context.person.chat : addressOf(chat);
  if (target === null) return { ...errorResult('message', nowhere(chat)), missing: true };
  const obstacle = options.obstacle(target.channel);
  if (obstacle !== null) return { ...errorResult('message', obstacle), missing: true };
  const speaks = voice && options.speaks(target.channel);
  if (written === '') return withoutText({ voice, speaks }, chat);
  const { rendered } = context.people;
  const text = await rendered(written);
  const buttons = (await Promise.all(labels.map(rendered))).filter((label) => label.trim() !== '');
  if (text.trim() === '') return errorResult('message', 'A plugin refuses this text, so nothing was sent.');
  const long = buttons.find((label) => Buffer.byteLength(label) > LONGEST_LABEL_BYTES);
  if (long !== undefined) {
    return errorResult('message', `The label ${JSON.stringify(long)} is longer than ${LONGEST_LABEL_BYTES} bytes.`);
  }
  const files: Media[] = [];
  for (const path of media) files.push(await mediaFrom(path, options, context));
  const { chat: here } = context.person;
  const metadata = {
    ...(isElsewhere(chat, context) && here !== null ? { [FROM]: `the conversation ${nameOf(here)}` } : {}),
    ...(context.conversation.taint.untrusted ? { [UNTRUSTED]: true } : {}),
  };
  const common = { ...target, kind: 'part' as const, turnId: context.call.turnId, metadata };
  const expiresAt = options.clock.now() + TTL_MS;
  const message: OutboundMessage = {
    ...common,
    id: `${context.call.id}:message`,
    text,
    media: [],
    ...(buttons.length === 0
      ? {}
      : { buttons: buttons.map((label) => [{ id: labelButton(label, context.conversation.taint), label }]) }),
    expiresAt,
  };
  const spoken = speaks ? spokenToo(message) : null;
  const albums = options.album(target.channel, files).map((media, n): OutboundMessage => {
    return { ...common, id: `${context.call.id}:file:${n}`, text: '', media, expiresAt };
  });
  await options.publish([message, ...(spoken === null ? [] : [spoken]), ...albums]);
  return {
    title: `message to ${nameOf(target)}`,
    output: `The message is on its way${voice && !speaks ? ` as text: ${UNSPOKEN}` : ''}.`,
    metadata: { files: files.length },
  };
}

const UNSPOKEN = 'voice messages cannot be sent to this chat';

/** A call without a text: the answer is to be spoken, or the text was forgotten. */
function withoutText(
  { voice, speaks }: { readonly voice: boolean; readonly speaks: boolean },
  chat: string | undefined,
): ToolResult {
  if (!voice || chat !== undefined) return errorResult('message', 'The text is empty, so nothing was sent.');
  if (!speaks) return errorResult('message', `Nothing was sent: ${UNSPOKEN}. Answer in text.`);
  return { title: 'speak the answer', output: 'Your answer will be spoken too. Write it now.', metadata: {} };
}

/** The spec of a tool as a model sees it where nothing can be spoken. */
export function withoutVoice(spec: ToolSpec): ToolSpec {
  if (spec.name !== 'message') return spec;
  const { properties } = spec.parameters;
  if (typeof properties !== 'object' || properties === null) return spec;
  const kept = Object.fromEntries(Object.entries(properties).filter(([name]) => name !== 'voice'));
  return { ...spec, parameters: { ...spec.parameters, properties: kept } };
}

function isElsewhere(chat: Params['chat'], { person }: ToolContext): boolean {
  if (chat === undefined) return false;
  const target = addressOf(chat);
  return target === null || person.chat === null || nameOf(target) !== nameOf(person.chat);
}

function addressOf(chat: string): ChatAddress | null {
  return /\s/u.test(chat) ? null : (parseChat(chat) ?? null);
}

function nameOf({ channel, chatId, threadId }: ChatAddress): string {
  return [channel, chatId, ...(threadId === undefined ? [] : [threadId])].join(':');
}

function nowhere(chat: string | undefined): string {
  if (chat === undefined)
    return 'Nothing was sent: this turn has no chat. Name one in chat as channel:chat, e.g. telegram:12345.';
  return `A chat is named as channel:chat or channel:chat:thread, but ${JSON.stringify(chat.slice(0, 80))} was given.`;
}

/** A file that a tool may read, as one to be sent. */
async function mediaFrom(path: string, { guard, keep }: MediaSource, context: ToolContext): Promise<Media> {
  using place = await openAllowed(guard, { path, access: 'read' }, context);
  const { bytes, path: real } = await readWhole(place, path, context);
  const type = TYPES[extname(real).toLowerCase()] ?? OTHER;
  return { ...type, path: await keep(bytes), name: basename(real), size: bytes.byteLength };
}
