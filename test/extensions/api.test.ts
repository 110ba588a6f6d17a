import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const CORE = fileURLToPath(new URL('../../src/core', import.meta.url));

/** Entries that packages get as `assistantd`; what they name is a promise. */
const PROMISED = ['api.ts', 'api-files.ts', 'api-rows.ts', 'api-tables.ts', 'api-time.ts'];

/** All that extensions may import of the core, by entry. A name comes or goes by hand, and the sum only falls. */
const NAMES: Readonly<Record<string, string>> = {
  'api-asking.ts': 'askingRow',
  'api-channels.ts':
    'AccessSettings actOf albumsOf ALWAYS_PERMITTED APPROVAL_BUTTONS Backfill backoffMs ChannelContext ChannelError channelOptions ChannelSettings configuredOwners ContextMessage createGuardedFetch decideAccess Dialect emojisOf escapeHtml groupOptions http https IdOrder InboundResult isAbort isPicture isSaid LayoutRow Link literalLine literalParts Markup Media MenuCommand Missed nothing notifyGap NotPermitted ON_MESSAGE ONLY_TO OpenItems opinionOf OutgoingPart Pace PairedRole parseLine Permit permittedRequests PieceDialect plainText Platform PlatformChannel quotedFiles RawEvent ReactionChange ReactionDraft reactionOptions ReactionTarget ReadUpTo receive Received renderPieces renderRows ReplyReference Resend RESEND_MARK Sender SenderAccess SendError Span spanText startsWithName StateReactions Stranger systemClock textIn textOfPress timeOfId toHtml tokenText toParts toPieces toRows toSpans unknownShape UNREAD withAddress withCommandPrefix withoutAnswered writtenBy',
  'api-child.ts': 'answerWith AppError Bounds cut DocumentText encodingsOf errorMessage pdfText withoutInvisible',
  'api-cli.ts':
    'CliContext confirm countText dollars draftChange escapeInvisible HomeFlag indented loadConfig LoadedConfig NpmInstall npmInstall openAssistant openProgress OutputFlags pathsOf print programVariables Showing Shown terminalText usageError writeConfig',
  'api-clients.ts':
    'approvalHash backoffMs collectSecrets createStreamingFetch EditorServer EditorServerReport endLeftPrograms execEnvironment matchesName Media NotPermitted OwnWordsError StreamingFetch withoutInvisible',
  'api-commands.ts':
    'approvalHash CappedFile CHANGED changedBetween Changes CommandDecision CommandReach CommandWords cutStart Enclosure endLeftPrograms exactWords Exceeded execEnvironment findProgram folded guardCommand judgeGit Landing LEFTOVER_NOTE Marks namesIn Program readHostList readWords ResultBits RunOptions runsOthers Verdict View weakest within',
  'api-doctor.ts': 'channelsOf Check failed Finding Found note ok Scene warning',
  'api-files.ts':
    'ensureDirectory fileStampOf ifThere quarantine readIfExists replaceDurable ReplaceOptions syncDirectory watchFile',
  'api-memory.ts': 'fileStamp fileText knownOf PromptLayerSource recordKey searchByQuestion seesPrivate shortened',
  'api-paths.ts':
    'AppError CONTROLS cut cutStart decidePath decodeText encodeText errorMessage harmless imageType Inside looksBinary MOST_IMAGE_BYTES oneLine openEntry PathGuard PathRules pin Pinned plural refused runnableFile SYNC_CALLS systemClock TextFormat within',
  'api-providers.ts':
    'argumentsObject argumentsText AskedWindow AssistantPart brokenStream clientsFor configuredWindow countText createWatchedFetch DeadlineError deadlinesOf DONE EMPTY_ANSWER endpointFetch EndpointOptions ErrorContext Exchange failureIn Fetch forThinking imagesOf isJson isLengthReason isLocalAddress isRefusalReason laterUsage legalArguments malformedAnswer ModelError ModelEvent ModelMessage ModelRequest ModelResponse ModelToolCall nameErrors noUsage openProvider outputText perExchange perObject presetOf Provider providerAddressOf ProviderConfig questionsTo Quirks readablePart readUsage ReasoningPart rootOf sdkProvider sdkTimeout serverId StopReason streamCall systemMessage tokensOfText ToolChoice ToolMessage ToolSpec Usage UserPart Vendor VendorPlace versionIn WindowQuestion WireBody wireJson wireName WireRequest wireRequest withImagesRead withQuirks withTextCalls',
  'api-proxy.ts': 'startGuardedProxy',
  'api-replay.ts':
    'CallRecord changedAsSent ChosenModel createModels createProviders createRedactor entriesOfTurn EntryDraft formatTrace fullName LineOf MODEL_ERROR_KINDS ownName Pricing Providers readTail readTape readTrace rebuildRequest Redact renderResult runGivenTurn silentLog StoredImage systemClock TraceFile TraceLine TraceProviders TurnPlan unknownTurn',
  'api-rows.ts': 'argument choice commandRow flagOption GroupPart numberOption textOption textsOption',
  'api-sandbox.ts':
    'ByteLines createSandbox EnclosedProcess findProgram GuardedProxyOptions packageRemedy probeSandbox Program runEnclosed Sandbox SendingRequest',
  'api-settings.ts': 'httpUrl modelReference text textMap texts',
  'api-setup.ts': 'Bot BotFacts Checked CodeSender packageFile Platform Setting setUpHere setUpRunning SetupWorld',
  'api-tables.ts': 'added Aged Database Journal Migration Row Sweep Swept SweptJournal Tables unfinishedTurn',
  'api-tapes.ts': 'AssistantEntry CallNote EntryOf ModelCall TapeEntry TapeTurn ToolEntry ToolResultStep turnOf',
  'api-terminal.ts':
    'ApprovalQuestion ApprovalReply AssistantPort AttachedMessage attribute characters ConnectionWatcher Conversation createRedactor inlineSpans isDumb jsonText LineHistory LONGEST_MARKDOWN lookOf NotSentError OutboundEvent paint parseMarkdown Piece ReconnectingAssistant rowWidth seconds SendInput TerminalLook textWidth Tone TurnSummary wrapAnywhere wrapped wrapWords',
  'api-time.ts':
    'agoText durationText instantOf isoIn isZone localMinute localText LocalTime localTime machineZone parseDuration ZoneTime zoneTimeOf',
  'api-tools.ts':
    'ApprovalRequest askToChange askToRead bitsOf callDetail callerOf CallIds CallPerson ChatCommand choiceAction createReader DeclaredAction defineTool EffectTarget errorResult escapeControlChars Executed failureLine fetchAction FetchResult FileAccess FileContent fileTarget firstJoined freeText GuardedFetch hasChannel imageType isSaidByOthers localRole Marks NAMES_SOURCE openAllowed PAGE_MARGIN Plan planInside Planned previewOf putFile ReadApart readOpened readReplaced ReadRequest readWhole RecordedJob ReplacedFile requireReadable ResultBits SaidText sha256 showsInGroup siteOf TEXT_SOURCE Tool ToolContext ToolMetadata ToolResult urlOrigin webhookSender withScheme writeThrough',
  'api-turns.ts':
    'ANSWER_TTL askStructured cleanModel depthOf EndTurn outboundTo outcomeOf SideCall SideCalls StructuredAnswer StructuredQuestion subagentOf SubagentOutcome SubagentTask taskMessage',
  'api-vendors.ts':
    'AskedWindow Embed keysOf lazyProvider optionalUrl Preset Program ProviderConfig SpeechPart SpeechState switchedOff Synthesize text Transcribe usualKind Vendor VendorPlace',
  'api-why.ts': 'OwnStep WhyStep WhyStory withoutStop',
  'api.ts':
    'AcceptResult AnswerOf API_CHANNEL App AppError asFlag assistantCommand boundaryFor Button Caller channelSecret channelServer Clock Config Contributions count cut deadline defineExtension definePlugin errorCode errorMessage Extension ExtensionOperations Fence fence flag FROM HomePaths InboundDraft InboundMessage Logger MARKDOWN megabytes oneLine Operation operation optionalText OutboundMessage ParamsOf parseChat plural raceAbort Random RecentMap Role Route RoutePart SAY_BUTTON Section section sentences sessionKeyOf sleep Slots systemRandom takes ToolFacts z',
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
