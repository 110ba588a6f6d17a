import { count, section } from '../../core/api.ts';

const ABOUT = 'Maximum number of subagents that run at the same time.';

export const maxSubagents = section('agent.maxSubagents', 'restart', count(3, 0, ABOUT));
