import type { Hono } from 'hono';
import * as z from 'zod';
import { APPROVAL_BUTTONS, CHOICE_BUTTON, TEXT_OF_CHOICE } from '../../bus/buttons.ts';
import type { InboundDraft, Media } from '../../bus/messages.ts';
import type { App } from '../../app.ts';
import type { QuestionKind } from '../../journal/questions.ts';
import { AppError } from '../../util/errors.ts';
import { RecentMap } from '../../util/recent-map.ts';
import { jsonBody, type HttpContext, type HttpEnv } from './answer.ts';
import type { Inside } from './options.ts';
import { webDraft } from './web-draft.ts';
import type { AnswerReply, MessageReply } from './wire.ts';

const MOST_FILES = 10;
const LONGEST_TEXT = 400_000;
const REPLIES = 100;

const id = z.string().regex(/^[\w-]{8,64}$/u, 'expected 8 to 64 letters, digits, _ or -, new for each message');
const chat = z.string().regex(/^[\w-]{1,64}$/u, 'expected 1 to 64 letters, digits, _ or -');
const text = z.string().max(LONGEST_TEXT, `expected at most ${LONGEST_TEXT} characters; attach longer texts as files`);
const upload = z.object({ upload: z.string().max(200), name: z.string().max(200).optional() });
const messageInput = z.object({
  id,
  chat,
  text,
  media: z.array(upload).max(MOST_FILES, `expected at most ${MOST_FILES} files`).default([]),
  model: z.string().max(200).optional(),
});
const stopInput = z.object({ id, chat });
const answerInput = z.object({
  id,
  code: z.string().max(40),
  decision: z.enum(['approve', 'deny', 'always', 'answer']),
  text: text.default(''),
});

/** What a person says on the page: each is a message of the channel `web`, taken once for each id. */
export function serveMessages(hono: Hono<HttpEnv>, { app, files }: Inside): void {
  const { bus, journal } = app;
  const replies = new RecentMap<string, string>(REPLIES);
  // What a message decided about a question, before its acceptance is known.
  journal.inbox.onAnswer(({ message, reply }) => {
    if (message.channel === 'web') replies.set(message.externalId, reply);
  });
  hono.post('/api/messages', async (context) => {
    const input = await jsonBody(context, messageInput);
    const media: Media[] = [];
    for (const one of input.media) {
      const file = await files.use(one.upload, one.name);
      if (file === undefined) throw new AppError('upload-unknown', 'This file is not kept any more. Send it again.');
      media.push(file);
    }
    if (input.text.trim() === '' && media.length === 0) {
      throw new AppError('input-invalid', 'text: expected a text that is not empty, or a file.');
    }
    const metadata = input.model === undefined ? {} : { model: input.model };
    return await accept(context, app, webDraft(app, { ...input, media, metadata }));
  });
  hono.post('/api/stop', async (context) => {
    const input = await jsonBody(context, stopInput);
    return await accept(context, app, webDraft(app, { ...input, text: '/stop' }));
  });
  hono.post('/api/answers', async (context) => {
    const input = await jsonBody(context, answerInput);
    const question = journal.questions.byCode(input.code);
    if (question === undefined) throw new AppError('question-unknown', 'There is no such question.');
    const draft = webDraft(app, {
      id: input.id,
      chat: question.channel === 'web' ? question.chat : 'main',
      ...saying(question.kind, input),
    });
    const [accepted = 'refused'] = await bus.publishInbound(draft);
    const reply: AnswerReply = { accepted, reply: replies.get(draft.externalId) ?? '' };
    return context.json(reply, 202);
  });
}

async function accept(context: HttpContext, { bus }: App, draft: InboundDraft): Promise<Response> {
  const [accepted = 'refused'] = await bus.publishInbound(draft);
  const reply: MessageReply = { accepted, session: bus.sessionOf(draft) };
  return context.json(reply, 202);
}

/** A decision as the press of a button under the question, or as the command with a reason. */
function saying(
  kind: QuestionKind,
  { decision, code, text: words }: z.output<typeof answerInput>,
): Pick<InboundDraft, 'text' | 'action'> {
  if ((kind === 'ask') !== (decision === 'answer')) {
    const expected = kind === 'ask' ? 'answer' : 'approve, deny or always';
    throw new AppError('input-invalid', `decision: this question takes ${expected}.`);
  }
  if (decision === 'answer') {
    if (words.trim() === '') throw new AppError('input-invalid', 'text: expected the answer.');
    return { text: '', action: { id: `${CHOICE_BUTTON}${code}:${TEXT_OF_CHOICE}`, value: words } };
  }
  if (decision === 'deny' && words.trim() !== '') return { text: `/deny ${code} ${words}` };
  return { text: '', action: { id: `${APPROVAL_BUTTONS[decision]}${code}`, value: '' } };
}
