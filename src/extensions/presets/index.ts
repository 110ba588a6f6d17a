import { defineExtension } from '../../core/api.ts';

/** Services and local servers that speak OpenAI's API; without its extension none of them is offered. docs/models.md */
export default defineExtension({
  name: 'presets',
  services: [
    {
      api: 'openai',
      presets: {
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
          hears: 'whisper-large-v3-turbo',
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
          listedAs: null,
          title: 'LM Studio',
        },
        llamacpp: {
          baseUrl: 'http://127.0.0.1:8080/v1',
          keyVariable: null,
          defaultModel: null,
          title: 'llama.cpp',
        },
        vllm: {
          baseUrl: 'http://127.0.0.1:8000/v1',
          keyVariable: null,
          defaultModel: null,
          listedAs: null,
          title: 'vLLM',
        },
      },
    },
  ],
});
