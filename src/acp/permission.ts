import type { PermissionOption, RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk';
import type { ApprovalQuestion, ApprovalReply } from '../core/gateway/assistant-port.ts';
import { fenced } from '../core/util/text.ts';
import { text } from './updates.ts';

const ONCE: PermissionOption = { optionId: 'once', name: 'Allow once', kind: 'allow_once' };
export const NO: PermissionOption = { optionId: 'no', name: 'Do not allow', kind: 'reject_once' };

/** An approval as the editor shows it: exactly what will run, and why it is asked. */
export function permissionFor(sessionId: string, question: ApprovalQuestion): RequestPermissionRequest {
  const { id: toolCallId, title, detail, reason, always } = question;
  const forGood: PermissionOption[] =
    always === undefined
      ? []
      : [{ optionId: 'always', name: `Always allow ${always.program.join(' ')}`, kind: 'allow_always' }];
  return {
    sessionId,
    toolCall: {
      toolCallId,
      title,
      status: 'pending',
      content: [{ type: 'content', content: text(`${fenced(detail)}\n\n${reason}`) }],
    },
    options: [ONCE, ...forGood, NO],
  };
}

/** What the editor answered; anything that is no yes is a no. */
export function replyOf({ outcome }: RequestPermissionResponse): ApprovalReply {
  if (outcome.outcome !== 'selected') return false;
  if (outcome.optionId === 'always') return 'always';
  return outcome.optionId === ONCE.optionId;
}

/** Whether a conversation may read and change the files of a folder. */
export function folderPermission(sessionId: string, folder: string): RequestPermissionRequest {
  return {
    sessionId,
    toolCall: {
      toolCallId: `folder:${sessionId}`,
      title: `Read and change the files in ${folder}?`,
      kind: 'other',
      status: 'pending',
      content: [
        {
          type: 'content',
          content: text(
            'The folder lies outside the workspace of the assistant. Without it the conversation works, but not on these files.',
          ),
        },
      ],
    },
    options: [
      { optionId: 'once', name: 'Allow for this conversation', kind: 'allow_once' },
      { optionId: 'always', name: 'Always allow this folder', kind: 'allow_always' },
      NO,
    ],
  };
}
