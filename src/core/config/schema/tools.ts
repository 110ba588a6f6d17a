import * as z from 'zod';
import { count, flag, optionalCount, optionalText, optionalUrl, takes, textMap, texts } from './values.ts';

const exec = z
  .object({
    mode: z
      .enum(['off', 'ask', 'auto', 'full'])
      .default('auto')
      .describe(
        'How commands run: `off` never; `ask` after a question; `auto` in the sandbox without a question, outside of it after one; `full` without sandbox and questions.',
      ),
    sandbox: z
      .enum(['auto', 'bubblewrap', 'off'])
      .default('auto')
      .describe('The sandbox for commands; `auto`: the strongest that works on this machine.'),
    network: flag(false, 'Whether commands in the sandbox can use the network.'),
    timeoutSeconds: count(120, 1, 'Time limit for a command, in seconds.'),
    maxConcurrent: count(4, 1, 'Maximum number of commands that run at the same time.'),
    allowEnv: texts('Names of environment variables that commands may see.'),
    allowCommands: texts('Exact commands, with absolute paths, that run without a question.'),
  })
  .prefault({})
  .describe('Running commands.');

const web = z
  .object({
    allowHosts: texts(
      'Hosts that may be fetched without a question, even in a conversation with private text; private hosts can be listed too. Form: `example.com` or `*.example.com`, optionally with `:port`.',
    ),
    denyHosts: texts('Hosts that are never fetched, in the same form; `*` means every host.'),
  })
  .prefault({})
  .describe('Search and pages on the web.');

export const toolsSchema = z
  .object({
    allow: takes('live', texts('Names of the tools that may be used; `*` stands for any part of a name.', ['*'])),
    deny: takes('live', texts('Names of tools that may not be used; wins over `allow`.')),
    guest: takes('live', texts('Tools that guests may use.', ['web_search', 'web_fetch'])),
    restrictToWorkspace: flag(true, 'Whether file tools stay inside the workspace and `readRoots`.'),
    readRoots: texts('Folders outside the workspace that file tools may read.'),
    exec,
    web,
  })
  .prefault({})
  .describe('The tools, and who may use them.');

export const skillsSchema = z
  .object({
    disabled: texts('Names of skills that are not used.'),
    entries: z
      .record(
        z.string(),
        z
          .object({
            enabled: flag(true, 'Whether it is used.'),
            trusted: flag(
              false,
              'Whether its text is trusted like the owner’s words, as that of the bundled skills is.',
            ),
            env: textMap('Environment variables for its commands.'),
          })
          .describe('Settings of one skill.'),
      )
      .default({})
      .describe('Settings by skill.'),
  })
  .prefault({})
  .describe('Skills.');

export const memorySchema = z
  .object({
    consolidateAt: z
      .number()
      .gt(0)
      .max(1)
      .default(0.5)
      .describe(
        'Share of the context window that a conversation may fill before its older part is summarized; earlier if the prompt and the tools leave less room.',
      ),
    searchResults: count(6, 1, 'Number of results of one memory search.', 50),
    embeddings: takes(
      'live',
      z
        .object({
          provider: optionalText('A provider that speaks OpenAI’s API, by its name in `providers`; null: none.'),
          baseUrl: optionalUrl(
            'Address of another server with OpenAI’s API, e.g. `http://127.0.0.1:8080/v1`; null: none.',
          ),
          apiKey: optionalText('Key for that server; null: that of the provider, or none.'),
          model: optionalText('Its model, such as `text-embedding-3-small`; null: none.'),
          dimensions: optionalCount('How many numbers a vector is to have; null: as many as the model gives.'),
          dayTokens: count(
            500_000,
            0,
            'Maximum number of tokens per day for texts of conversations and of the memory.',
          ),
        })
        .prefault({})
        .describe(
          'The model that makes vectors of texts, so that the memory is searched by meaning too; the texts go to its server. It serves `POST /v1/embeddings` too. Off by default.',
        ),
    ),
  })
  .prefault({})
  .describe('Memory.');
