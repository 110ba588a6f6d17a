import { homeOutageSuite } from '../support/home-outage-suite.ts';

homeOutageSuite({ downMs: 18_000, leaseSeconds: 15, people: 1, everyMs: 2_000 }, [
  ['ended', 'two gateways of one home'],
]);
