import type { Vendor } from './vendor.ts';

/** Where servers that speak OpenAI's Chat Completions differ. */
export interface Quirks {
  /** The name of the limit on an answer. */
  readonly maxTokens: 'max_tokens' | 'max_completion_tokens';
  readonly systemRole: 'system' | 'developer';
  /**
   * How thinking is asked for: `reasoning_effort`, OpenRouter's `reasoning`, a `thinking` switch, `enable_thinking`;
   * `none`: the model decides, and a field would be refused.
   */
  readonly reasoning: 'effort' | 'openrouter' | 'thinking' | 'enable-thinking' | 'none';
  /** Whether `stream_options.include_usage` is accepted. */
  readonly streamUsage: boolean;
  /** What ids of tool calls may look like. */
  readonly callId: RegExp;
  /** An assistant's word must stand between a tool's result and the next word of a person. */
  readonly answerAfterTools: boolean;
  /** Whether tool choice `none` is understood; where it is not, the tools stay offered. */
  readonly choiceNone: boolean;
  /** Fields of each request. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Most servers that speak OpenAI's API. */
export const COMPATIBLE: Quirks = {
  maxTokens: 'max_tokens',
  systemRole: 'system',
  reasoning: 'effort',
  streamUsage: true,
  callId: /^[\x21-\x7e]{1,40}$/u,
  answerAfterTools: false,
  choiceNone: true,
  body: {},
};

/** OpenAI's own API. */
export const OFFICIAL: Quirks = { ...COMPATIBLE, maxTokens: 'max_completion_tokens' };

/** A service that is known by name. */
export interface ServiceRow {
  /** Null: the SDK's own address, or none at all. */
  readonly baseUrl: string | null;
  /** The address differs from customer to customer and must be configured. */
  readonly needsBaseUrl?: boolean;
  /** The usual environment variable of the key; null: no key is needed. */
  readonly keyVariable: string | null;
  /** The usual environment variable of another address. @default none */
  readonly baseUrlVariable?: string;
  /** Where a person gets a key; left out where that is not known. */
  readonly keyPage?: string;
  /** What `model: "auto"` takes; null: there is no model that everybody has. */
  readonly defaultModel: string | null;
  /** Its name in the list of prices; null: it runs on this machine, so no list knows what it costs. @default its own name */
  readonly listedAs?: string | null;
  /** Of a server on this machine, which `assistant init` looks for: how people call it. */
  readonly title?: string;
  /** Where the environment says that it listens. @default it says nothing */
  readonly addressIn?: (env: Readonly<Record<string, string | undefined>>) => string | null;
  /** The service before which people see it. @default the last */
  readonly before?: string;
  /** Where it differs from most. */
  readonly quirks?: Partial<Quirks>;
  /** It says how many tokens its models read. @default where a person gave the address of a server with OpenAI's API */
  readonly asksWindow?: true;
  /** Below its own root it serves OpenAI's API too, as `/v1`; an address may be given either way. */
  readonly hasRoot?: true;
}

export interface Preset extends ServiceRow {
  /** The wire that it speaks: its vendor's. */
  readonly api: string;
  /** The extension that brings it, where it is switched off: then it can't be called. */
  readonly off?: string;
}

/** Services by name. */
export type Presets = ReadonlyMap<string, Preset>;

/** The services that are reached through the wires of the core. */
export const CORE_SERVICES: readonly Pick<Vendor, 'api' | 'presets'>[] = [
  {
    api: 'anthropic',
    presets: {
      anthropic: {
        baseUrl: null,
        keyVariable: 'ANTHROPIC_API_KEY',
        baseUrlVariable: 'ANTHROPIC_BASE_URL',
        keyPage: 'https://console.anthropic.com/settings/keys',
        defaultModel: 'claude-sonnet-5-5',
      },
    },
  },
  {
    api: 'openai',
    presets: {
      openai: {
        baseUrl: null,
        keyVariable: 'OPENAI_API_KEY',
        baseUrlVariable: 'OPENAI_BASE_URL',
        keyPage: 'https://platform.openai.com/api-keys',
        defaultModel: 'gpt-5.5',
      },
      openrouter: {
        baseUrl: 'https://openrouter.ai/api/v1',
        keyVariable: 'OPENROUTER_API_KEY',
        keyPage: 'https://openrouter.ai/keys',
        defaultModel: 'openrouter/auto',
        quirks: { reasoning: 'openrouter' },
      },
      gemini: {
        baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
        keyVariable: 'GEMINI_API_KEY',
        keyPage: 'https://aistudio.google.com/apikey',
        defaultModel: 'gemini-3.5-flash',
        listedAs: 'google',
      },
      groq: {
        baseUrl: 'https://api.groq.com/openai/v1',
        keyVariable: 'GROQ_API_KEY',
        keyPage: 'https://console.groq.com/keys',
        defaultModel: 'openai/gpt-oss-120b',
        quirks: { maxTokens: 'max_completion_tokens' },
      },
      deepseek: {
        baseUrl: 'https://api.deepseek.com',
        keyVariable: 'DEEPSEEK_API_KEY',
        keyPage: 'https://platform.deepseek.com/api_keys',
        defaultModel: 'deepseek-v4-flash',
        quirks: { reasoning: 'thinking' },
      },
      mistral: {
        baseUrl: 'https://api.mistral.ai/v1',
        keyVariable: 'MISTRAL_API_KEY',
        keyPage: 'https://console.mistral.ai/api-keys',
        defaultModel: 'mistral-medium-latest',
        // It refuses fields that it does not know, counts tokens unasked, and insists on its own kind of ids.
        quirks: { reasoning: 'none', streamUsage: false, callId: /^[A-Za-z0-9]{9}$/u, answerAfterTools: true },
      },
      moonshot: {
        baseUrl: 'https://api.moonshot.ai/v1',
        keyVariable: 'MOONSHOT_API_KEY',
        keyPage: 'https://platform.moonshot.ai/console/api-keys',
        defaultModel: 'kimi-k2.6',
        quirks: { reasoning: 'thinking' },
        listedAs: 'moonshotai',
      },
      xai: {
        baseUrl: 'https://api.x.ai/v1',
        keyVariable: 'XAI_API_KEY',
        keyPage: 'https://console.x.ai',
        defaultModel: 'grok-4.3',
        quirks: { maxTokens: 'max_completion_tokens' },
        listedAs: 'x-ai',
      },
      zhipu: {
        baseUrl: 'https://open.bigmodel.cn/api/paas/v4',
        keyVariable: 'ZHIPUAI_API_KEY',
        defaultModel: 'glm-4.7',
        // It counts tokens unasked and knows no other tool choice than `auto`.
        quirks: { reasoning: 'thinking', streamUsage: false, choiceNone: false },
        listedAs: 'zhipuai',
      },
      dashscope: {
        baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
        keyVariable: 'DASHSCOPE_API_KEY',
        defaultModel: 'qwen3.5-plus',
        quirks: { reasoning: 'enable-thinking' },
      },
      minimax: {
        baseUrl: 'https://api.minimax.io/v1',
        keyVariable: 'MINIMAX_API_KEY',
        defaultModel: 'MiniMax-M2.5',
        // Without the split its thoughts come inside the text.
        quirks: {
          maxTokens: 'max_completion_tokens',
          reasoning: 'none',
          choiceNone: false,
          body: { reasoning_split: true },
        },
      },
      siliconflow: {
        baseUrl: 'https://api.siliconflow.com/v1',
        keyVariable: 'SILICONFLOW_API_KEY',
        defaultModel: 'deepseek-ai/DeepSeek-V3.2',
        quirks: { reasoning: 'enable-thinking' },
      },
      together: {
        baseUrl: 'https://api.together.xyz/v1',
        keyVariable: 'TOGETHER_API_KEY',
        defaultModel: 'openai/gpt-oss-120b',
      },
      'azure-openai': {
        baseUrl: null,
        needsBaseUrl: true,
        keyVariable: 'AZURE_OPENAI_API_KEY',
        defaultModel: null,
        quirks: { maxTokens: 'max_completion_tokens', systemRole: 'developer' },
        listedAs: 'azure',
      },
      lmstudio: {
        baseUrl: 'http://127.0.0.1:1234/v1',
        keyVariable: null,
        defaultModel: null,
        asksWindow: true,
        listedAs: null,
        title: 'LM Studio',
      },
      llamacpp: {
        baseUrl: 'http://127.0.0.1:8080/v1',
        keyVariable: null,
        defaultModel: null,
        asksWindow: true,
        title: 'llama.cpp',
      },
      vllm: {
        baseUrl: 'http://127.0.0.1:8000/v1',
        keyVariable: null,
        defaultModel: null,
        asksWindow: true,
        listedAs: null,
        title: 'vLLM',
      },
    },
  },
  {
    api: 'demo',
    presets: {
      demo: { baseUrl: null, keyVariable: null, defaultModel: 'scripted', listedAs: null },
    },
  },
];

/** The services of vendors by their names, in the order in which `model: "auto"` looks for a key and people see them. */
export function presetsOf(vendors: readonly Pick<Vendor, 'api' | 'presets'>[]): Presets {
  const rows: (readonly [string, Preset])[] = [];
  for (const { api, presets } of vendors)
    for (const [name, row] of Object.entries(presets)) {
      const before = rows.findIndex(([other]) => other === row.before);
      rows.splice(before === -1 ? rows.length : before, 0, [name, { ...row, api }]);
    }
  return new Map(rows);
}

/** The address without the `/v1` of an OpenAI-compatible API. */
export function rootOf(baseUrl: string): string {
  return baseUrl.replace(/\/+$/u, '').replace(/\/v1$/u, '');
}
