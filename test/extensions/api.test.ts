import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const CORE = fileURLToPath(new URL('../../src/core', import.meta.url));

/** Entries that packages get as `assistantd`; what they name is a promise. */
const PROMISED = ['api.ts', 'api-files.ts', 'api-rows.ts', 'api-tables.ts', 'api-time.ts'];

/** All that extensions may import of the core, by entry. A name comes or goes by hand, and the sum only falls. */
const NAMES: Readonly<Record<string, string>> = {
  'api-channels.ts':
    'AccessSettings actOf albumsOf Backfill ChannelContext ChannelError channelOptions ChannelSettings createGuardedFetch decideAccess Dialect groupOptions IdOrder InboundResult isPicture isSaid Link literalLine literalParts Markup Media MenuCommand Missed nothing notifyGap ON_MESSAGE ONLY_TO opinionOf OutgoingPart Pace PairedRole Permit permittedRequests PieceDialect Platform PlatformChannel quotedFiles RawEvent ReactionChange ReactionDraft ReactionTarget receive Received renderPieces renderRows ReplyReference Resend Sender SenderAccess SendError Span spanText startsWithName StateReactions textIn textOfPress toParts toPieces toRows toSpans unknownShape UNREAD withAddress withoutAnswered writtenBy',
  'api-cli.ts':
    'CliContext confirm draftChange escapeInvisible HomeFlag loadConfig NpmInstall npmInstall openAssistant openProgress OutputFlags pathsOf print programVariables terminalText usageError writeConfig',
  'api-doctor.ts': 'channelsOf Check failed Finding note ok Scene tokenFinding warning',
  'api-files.ts':
    'ensureDirectory fileStampOf ifThere quarantine readIfExists replaceDurable ReplaceOptions syncDirectory watchFile',
  'api-memory.ts': 'fileStamp fileText knownOf PromptLayerSource recordKey searchByQuestion seesPrivate shortened',
  'api-providers.ts':
    'argumentsObject argumentsText AskedWindow AssistantPart brokenStream configuredWindow countText createWatchedFetch deadlinesOf EMPTY_ANSWER endpointFetch EndpointOptions ErrorContext Exchange failureIn Fetch forThinking imagesOf isLengthReason isLocalAddress isRefusalReason malformedAnswer ModelError ModelEvent ModelRequest ModelResponse ModelToolCall openProvider outputText perExchange presetOf Provider providerAddressOf ProviderConfig questionsTo readablePart readUsage rootOf serverId StopReason streamCall systemMessage ToolMessage UserPart Vendor VendorPlace versionIn WindowQuestion WireBody wireJson wireName WireRequest wireRequest withImagesRead withQuirks withTextCalls',
  'api-proxy.ts': 'startGuardedProxy',
  'api-rows.ts': 'argument choice commandRow flagOption GroupPart textOption',
  'api-sandbox.ts':
    'createSandbox GuardedProxyOptions launch probeSandbox RunningProxy Sandbox SandboxedCommand SendingRequest',
  'api-settings.ts': 'modelReference text',
  'api-setup.ts': 'Cancelled channelError Checked chooseToken ownerSettings ReadyChannel Setting SetupWorld',
  'api-tables.ts': 'added Aged Database Journal Migration Row Sweep Swept SweptJournal Tables unfinishedTurn',
  'api-tapes.ts': 'EntryOf MessageEntry TapeEntry',
  'api-time.ts':
    'agoText durationText instantOf isoIn isZone localMinute localText LocalTime localTime machineZone parseDuration ZoneTime zoneTimeOf',
  'api-tools.ts':
    'CallIds CallPerson ChatCommand DeclaredAction defineTool errorResult escapeControlChars fetchAction FileAccess GuardedFetch imageType KeepWhole localRole PAGE_MARGIN readWhole RecordedJob siteOf Tool ToolContext ToolDecision ToolResult useOf webhookSender withScheme writeThrough',
  'api-turns.ts':
    'ANSWER_TTL askStructured cleanModel depthOf EndTurn outboundTo outcomeOf SideCall SideCalls StructuredAnswer StructuredQuestion subagentOf SubagentOutcome SubagentTask taskMessage',
  'api-vendors.ts': 'AskedWindow lazyProvider Vendor VendorPlace',
  'api-why.ts': 'OwnStep WhyStep WhyStory withoutStop',
  'api.ts':
    'AcceptResult AnswerOf API_CHANNEL App AppError asFlag assistantCommand boundaryFor Button Caller channelSecret channelServer Clock Config Contributions count cut deadline defineExtension definePlugin errorCode errorMessage Extension ExtensionOperations Fence fence firstJoined flag FROM hasChannel HomePaths InboundDraft InboundMessage Logger MARKDOWN megabytes NamedOperation oneLine operation optionalText OutboundMessage ParamsOf parseChat plural raceAbort Random RecentMap Role Route RoutePart SAY_BUTTON Section section sentences sessionKeyOf sleep Slots systemRandom takes ToolFacts z',
};

test('the API has these names and no others', () => {
  const found = globSync('api*.ts', { cwd: CORE }).map((file) => [basename(file), namesIn(file)] as const);
  expect(Object.fromEntries(found)).toEqual(NAMES);
});

test('packages are promised about a hundred names', () => {
  expect(PROMISED.flatMap((file) => (NAMES[file] ?? '').split(' ')).length).toBeLessThanOrEqual(100);
  expect(readFileSync(join(CORE, '../app.ts'), 'utf8').match(/(?<=\.\/core\/)api[\w-]*\.ts/gu)).toEqual(PROMISED);
});

function namesIn(file: string): string {
  const text = readFileSync(join(CORE, file), 'utf8');
  const lists = [...text.matchAll(/^export (?:type )?\{(?<names>[^}]*)\}/gmu)].flatMap(
    ({ groups }) => groups?.['names']?.split(',') ?? [],
  );
  const own = [...text.matchAll(/^export (?:interface|type|const|function) (?<name>\w+)/gmu)];
  const names = [
    ...lists.map((name) => name.trim().replace(/^type |^\w+ as /u, '')),
    ...own.map(({ groups }) => groups?.['name'] ?? ''),
  ];
  return [...new Set(names.filter((name) => name !== ''))]
    .toSorted((a, b) => a.toLowerCase().localeCompare(b.toLowerCase(), 'en') || (a < b ? -1 : 1))
    .join(' ');
}
