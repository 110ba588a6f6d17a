import type { Guard } from './guard.ts';
import { ANSWER_GUARDS } from './list/answers.ts';
import { APPROVAL_GUARDS } from './list/approvals.ts';
import { BACKUP_GUARDS } from './list/backups.ts';
import { BROWSER_GUARDS } from './list/browser.ts';
import { COMMAND_GUARDS } from './list/commands.ts';
import { DISCORD_GUARDS } from './list/discord.ts';
import { DOCUMENT_GUARDS } from './list/documents.ts';
import { EXEC_GUARDS } from './list/exec.ts';
import { FETCH_EXCHANGE_GUARDS } from './list/fetch-exchanges.ts';
import { FETCH_TARGET_GUARDS } from './list/fetch-targets.ts';
import { FILE_TOOL_GUARDS } from './list/file-tools.ts';
import { GATEWAY_GUARDS } from './list/gateway.ts';
import { LIMIT_GUARDS } from './list/limits.ts';
import { MCP_GUARDS } from './list/mcp.ts';
import { MEMORY_GUARDS } from './list/memory.ts';
import { OUTGOING_GUARDS } from './list/outgoing.ts';
import { OWN_WORK_GUARDS } from './list/own-work.ts';
import { PATH_RULE_GUARDS } from './list/path-rules.ts';
import { PATH_GUARDS } from './list/paths.ts';
import { PEOPLE_GUARDS } from './list/people.ts';
import { RECORD_GUARDS } from './list/records.ts';
import { REDACTION_GUARDS } from './list/redaction.ts';
import { REGISTRY_GUARDS } from './list/registry.ts';
import { SANDBOX_TRIAL_GUARDS } from './list/sandbox-trials.ts';
import { SANDBOX_BARRIER_GUARDS } from './list/sandbox-barriers.ts';
import { SEARCH_GUARDS } from './list/searches.ts';
import { SKILL_GUARDS } from './list/skills.ts';
import { SLACK_GUARDS } from './list/slack.ts';
import { STRANGER_GUARDS } from './list/strangers.ts';
import { TURN_GUARDS } from './list/turns.ts';
import { WEB_GUARDS } from './list/web.ts';
import { WORD_GUARDS } from './list/words.ts';

/** Guards of one subject. */
export interface Section {
  readonly title: string;
  readonly guards: readonly Guard[];
}

/** Every guard that a mutation run disables, one at a time, in the order of docs/guards.md. */
export const SECTIONS: readonly Section[] = [
  { title: 'Which addresses are fetched', guards: FETCH_TARGET_GUARDS },
  { title: 'What is sent to a server, and how much of its answer is taken', guards: FETCH_EXCHANGE_GUARDS },
  { title: 'What the web tools reach, and what of a page is read', guards: WEB_GUARDS },
  { title: 'What a browser reaches, and what its pages send', guards: BROWSER_GUARDS },
  { title: 'What a document may do to its reader', guards: DOCUMENT_GUARDS },
  { title: 'How files are opened', guards: PATH_GUARDS },
  { title: 'Which places are closed, and which need a yes', guards: PATH_RULE_GUARDS },
  { title: 'What a backup may put where', guards: BACKUP_GUARDS },
  {
    title: 'Which shell commands are refused in every mode, asked about, and may be allowed for good',
    guards: COMMAND_GUARDS,
  },
  { title: 'How shell commands are run', guards: EXEC_GUARDS },
  { title: 'What a command in the sandbox cannot reach', guards: SANDBOX_BARRIER_GUARDS },
  { title: 'How the sandbox is started, tried and bounded', guards: SANDBOX_TRIAL_GUARDS },
  { title: 'Who is asked, and what they see', guards: APPROVAL_GUARDS },
  { title: 'Who may answer a question, and what the answer covers', guards: ANSWER_GUARDS },
  { title: 'Who is heard, in which role, and how somebody is let in', guards: PEOPLE_GUARDS },
  { title: 'What is heard and shown on Slack', guards: SLACK_GUARDS },
  { title: 'Who reaches the assistant from outside of its channels', guards: GATEWAY_GUARDS },
  { title: 'Words of strangers, and what they may lead to', guards: STRANGER_GUARDS },
  { title: 'Secrets in texts', guards: REDACTION_GUARDS },
  { title: 'Which calls of tools run, and what of their results is seen', guards: REGISTRY_GUARDS },
  { title: 'What tools do with files, the memory and the tape', guards: FILE_TOOL_GUARDS },
  { title: 'What searches open and show, what patches change', guards: SEARCH_GUARDS },
  { title: 'Whose turn it is, and what joins it', guards: TURN_GUARDS },
  { title: 'What it does by itself, and what subagents may do', guards: OWN_WORK_GUARDS },
  { title: 'What a model is sent, and whose words it is told they are', guards: WORD_GUARDS },
  { title: 'What is remembered, what is found again, and whose it is', guards: MEMORY_GUARDS },
  { title: 'What skills may be, and who may call them', guards: SKILL_GUARDS },
  { title: 'What foreign servers of tools may do', guards: MCP_GUARDS },
  { title: 'What a command or a turn may use up', guards: LIMIT_GUARDS },
  { title: 'What is written down, who owns a home, and what a /stop ends', guards: RECORD_GUARDS },
  { title: 'What is sent to people', guards: OUTGOING_GUARDS },
  { title: 'Who is heard on Discord, and what is sent there', guards: DISCORD_GUARDS },
];

export const GUARDS: readonly Guard[] = SECTIONS.flatMap(({ guards }) => guards);
