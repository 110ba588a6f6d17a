import { describe, expect, test } from 'vitest';
import { failureOf, fetchWorld } from './fetch-world.ts';

const PUBLIC = '93.184.216.34';

const NOT_THE_WEB = [
  '',
  'example.com',
  '//example.com/',
  'file:///etc/passwd',
  'ftp://example.com/',
  'gopher://example.com:70/_x',
  'data:text/html,hi',
  'javascript:alert(1)',
  'ws://example.com/',
  'view-source:http://example.com/',
  'blob:http://example.com/1',
  'jar:http://example.com!/x',
  'unix:/var/run/docker.sock',
  'http+unix://%2Fvar%2Frun%2Fdocker.sock/info',
  'dict://example.com:11211/stat',
];

const TRICKS = [
  'http:example.com/',
  'http:/example.com/',
  'http:///example.com/',
  'http://',
  'http:// example.com/',
  ' http://example.com/',
  'http://example.com/ ',
  'http://exam ple.com/',
  'http://example.com/a b',
  'ht\ntp://example.com/',
  'http://exam\tple.com/',
  'http://example.com/\r\nHost: localhost',
  'http://example.com\u0000.evil.example/',
  'http://example.com\u00a0/',
  'http://example.com\u3000/',
  'http://exam\u200bple.com/',
  'http://exam\u00adple.com/',
  'http://\u202eexample.com/',
  'http://example.com\\@127.0.0.1/',
  'http://127.0.0.1\\@example.com/',
  'http:\\\\127.0.0.1\\',
  'http:/\\127.0.0.1/',
  'http://example.com/\\127.0.0.1',
  'http://user@example.com/',
  'http://user:secret@example.com/',
  'http://@example.com/',
  'http://:@example.com/',
  'http://example.com@127.0.0.1/',
  'http://127.0.0.1@example.com/',
  'http://example.com%40127.0.0.1/',
  'http://%31%32%37.0.0.1/',
  'http://loc%61lhost/',
  'http://ex%61mple.com/',
  'http://example.com%2f@127.0.0.1/',
  'http://127.0.0.1%00.example.com/',
  'http://example..com/',
  'http://.example.com/',
  'http://example.com../',
  'http://exa$mple.com/',
  `http://${'a'.repeat(64)}.com/`,
  `http://example.com/${'a'.repeat(9_000)}`,
  'http://example.com:0/',
  'http://example.com:99999/',
  'http://example.com:22/',
  'http://example.com:25/',
  'http://example.com:6667/',
  'http://example.com/\ud800',
];

const SPELLINGS = [
  'http://2130706433/',
  'http://017700000001/',
  'http://0x7f000001/',
  'http://0x7F.1/',
  'http://0177.0.0.1/',
  'http://127.1/',
  'http://127.0.1/',
  'http://0x7f.0x0.0x0.0x1/',
  'http://127.0.0.1./',
  'http://0/',
  'http://00.00.00.00/',
  'http://2852039166/',
  'http://0xa9fea9fe/',
  'http://0251.0376.0251.0376/',
  'http://①②⑦.⓪.⓪.①/',
  'http://１２７.０.０.１/',
  'http://127。0。0。1/',
  'http://127．0．0．1/',
  'http://𝟭𝟮𝟳.𝟬.𝟬.𝟭/',
  'http://134744072/',
  'http://0x08080808/',
  'http://8.8.8.8./',
  'http://256.256.256.256/',
  'http://127.0.0.1.5/',
];

const ADDRESSES = [
  'http://127.0.0.1/',
  'http://127.0.0.1:18790/',
  'https://127.255.255.254/',
  'http://0.0.0.0/',
  'http://0.1.2.3/',
  'http://10.0.0.1/',
  'http://10.255.255.255/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://192.168.0.1/',
  'http://192.168.178.1:8080/login',
  'http://169.254.1.1/',
  'http://100.64.0.1/',
  'http://100.127.255.255/',
  'http://192.0.0.8/',
  'http://192.0.2.1/',
  'http://192.88.99.1/',
  'http://198.18.0.1/',
  'http://198.19.255.255/',
  'http://198.51.100.7/',
  'http://203.0.113.7/',
  'http://192.31.196.1/',
  'http://192.52.193.1/',
  'http://192.175.48.1/',
  'http://224.0.0.1/',
  'http://239.255.255.250:1900/',
  'http://240.0.0.1/',
  'http://255.255.255.255/',
  'http://[::]/',
  'http://[::1]/',
  'http://[0:0:0:0:0:0:0:1]:8080/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[::ffff:8.8.8.8]/',
  'http://[::127.0.0.1]/',
  'http://[::7f00:1]/',
  'http://[::8.8.8.8]/',
  'http://[::ffff:0:127.0.0.1]/',
  'http://[64:ff9b::127.0.0.1]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[64:ff9b::808:808]/',
  'http://[64:ff9b:1::a00:1]/',
  'http://[2002:7f00:1::]/',
  'http://[2002:a00:1::1]/',
  'http://[2002:808:808::1]/',
  'http://[2001::1]/',
  'http://[2001:0:808:808:0:0:80ff:fffe]/',
  'http://[fe80::1]/',
  'http://[fe80::1%25eth0]/',
  'http://[fe80::1%eth0]/',
  'http://[fec0::1]/',
  'http://[fc00::1]/',
  'http://[fd12:3456:789a::1]/',
  'http://[ff02::1]/',
  'http://[100::1]/',
  'http://[2001:2::1]/',
  'http://[2001:10::1]/',
  'http://[2001:20::1]/',
  'http://[2001:db8::1]/',
  'http://[3fff::1]/',
  'http://[5f00::1]/',
  'http://[4000::1]/',
  'http://[2a00:1450:4001:80b:0:5efe:10.0.0.1]/',
  'http://[v1.fe80::a]/',
];

const METADATA = [
  'http://169.254.169.254/latest/meta-data/iam/security-credentials/',
  'http://169.254.170.2/v2/credentials',
  'http://169.254.170.23/v1/credentials',
  'http://[fd00:ec2::254]/latest/meta-data/',
  'http://[fd00:0ec2:0:0:0:0:0:254]/',
  'http://[fd20:ce::254]/',
  'http://[fe80::a9fe:a9fe]/',
  'http://[::ffff:169.254.169.254]/',
  'http://100.100.100.200/latest/meta-data/',
  'http://168.63.129.16/machine?comp=goalstate',
  'http://192.0.0.192/latest/',
  'http://169.254.42.42/conf',
  'http://metadata/computeMetadata/v1/',
  'http://metadata.google.internal/computeMetadata/v1/',
  'http://METADATA.GOOGLE.INTERNAL./',
  'http://x.metadata.google.internal/',
  'http://metadata.goog/',
  'http://metadata.azure.com/',
  'http://metadata.azure.internal/',
  'http://metadata.tencentyun.com/',
  'http://instance-data/latest/',
  'http://instance-data.ec2.internal/latest/',
  'http://api.metadata.cloud.ibm.com/',
];

const NAMES = [
  'http://localhost/',
  'http://LOCALHOST/',
  'http://localhost./',
  'http://ｌｏｃａｌｈｏｓｔ/',
  'http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/',
  'http://foo.localhost/',
  'http://localhost.localdomain/',
  'http://printer.local/',
  'http://printer。local/',
  'http://vault.internal/',
  'http://router.home.arpa/',
  'http://nas.lan/',
  'http://git.corp/',
  'http://fritz.home/',
  'http://redis/',
  'http://kubernetes.default.svc/',
  'http://kubernetes.default.svc.cluster.local/',
  'http://1.0.0.127.in-addr.arpa/',
  'http://hidden.onion/',
];

const ANSWERS: readonly (readonly string[])[] = [
  ['127.0.0.1'],
  ['10.1.2.3'],
  ['192.168.1.1'],
  ['172.20.0.5'],
  ['169.254.169.254'],
  ['100.64.3.4'],
  ['0.0.0.0'],
  ['255.255.255.255'],
  ['224.0.0.251'],
  ['198.18.5.5'],
  ['168.63.129.16'],
  ['::1'],
  ['::'],
  ['fe80::1'],
  ['fe80::1%eth0'],
  ['fd00::1'],
  ['ff02::fb'],
  ['::ffff:10.0.0.1'],
  ['::ffff:93.184.216.34'],
  ['::a00:1'],
  ['64:ff9b::10.0.0.1'],
  ['64:ff9b:1::5db8:d822'],
  ['2002:c0a8:101::1'],
  ['2001:0:5db8:d822:0:1:f5ff:fffe'],
  ['2001:db8::1'],
  [PUBLIC, '127.0.0.1'],
  ['127.0.0.1', PUBLIC],
  [PUBLIC, '::1'],
  ['2606:2800:220:1::1', '10.0.0.1'],
  ['2606:2800:220:1::1', 'fd00::5'],
  [PUBLIC, '93.184.216.35', '93.184.216.36', '192.168.0.9'],
  [PUBLIC, 'fe80::1%lo'],
  ['not an address'],
  [PUBLIC, ''],
  ['0x7f000001'],
  ['2130706433'],
  ['0177.0.0.1'],
  ['127.1'],
  ['8.8.2056'],
  ['134744072'],
  ['010.8.8.8'],
  ['2606:2800:220:1::1%eth0'],
  ['localhost'],
  Array.from({ length: 65 }, (_, i) => `93.184.216.${i + 1}`),
];

const hostileUrls = { NOT_THE_WEB, TRICKS, SPELLINGS, ADDRESSES, METADATA, NAMES };

describe('A hostile URL is refused before anything is connected to', () => {
  for (const [family, urls] of Object.entries(hostileUrls)) {
    test.each(urls)(`${family}: %j`, async (url) => {
      const world = fetchWorld({ resolve: async () => [PUBLIC] });
      expect(await world.checkUrl(url)).toMatchObject({ decision: 'deny', reason: expect.stringMatching(/\.$/) });
      expect(await failureOf(world.fetchGuarded(url))).toMatchObject({ code: 'fetch-refused' });
      expect(world.dialed).toEqual([]);
    });
  }

  test.each(ANSWERS.map((answer) => ({ answer })))('a name that answers $answer', async ({ answer }) => {
    const world = fetchWorld({ names: { 'name.example.com': [answer] } });
    const url = 'http://name.example.com/';
    expect(await failureOf(world.fetchGuarded(url))).toMatchObject({ code: 'fetch-refused' });
    expect(world.dialed).toEqual([]);
  });

  test('in a number that is worth the name', () => {
    expect(Object.values(hostileUrls).flat().length + ANSWERS.length).toBeGreaterThanOrEqual(200);
  });

  test('and a refusal says which kind of address it wants', async () => {
    const { message } = await failureOf(fetchWorld().fetchGuarded('ftp://example.com/'));
    expect(message).toBe('This URL was refused: only http:// and https:// addresses can be fetched.');
  });

  test('and its refusal repeats no password', async () => {
    const world = fetchWorld();
    const { message } = await failureOf(world.fetchGuarded('http://me:hunter2@example.com/'));
    expect(message).not.toContain('hunter2');
  });
});

const BENIGN = [
  'https://example.com/',
  'http://example.com',
  'HTTPS://EXAMPLE.COM/Path',
  'https://example.com./',
  'https://example.com/127.0.0.1',
  'https://example.com/http://localhost/',
  'https://example.com/?url=http://169.254.169.254/latest/meta-data/',
  'https://example.com/login?next=https%3A%2F%2Flocalhost%2F',
  'https://example.com/#@127.0.0.1',
  'https://example.com/?q=a\\b',
  'https://example.com/@user/post',
  'https://example.com/user@example.org',
  'https://example.com/?mail=me@example.org',
  'https://example.com:443/',
  'https://example.com:8443/x',
  'http://example.com:8080/',
  'http://example.com:3000/',
  'http://10.example.com/',
  'http://127.0.0.1.example.com/',
  'https://169.254.169.254.example.org/',
  'https://192-168-0-1.example.org/',
  'https://localhost.example.com/',
  'https://local.example.com/',
  'https://metadata.example.com/',
  'https://instance-data.example.com/',
  'https://internal.io/',
  'https://mylocalhost.com/',
  'https://notlocal.net/',
  'https://lan.party/',
  'https://under_score.example.com/',
  'https://a-b.example.co.uk/',
  'https://xn--mnchen-3ya.de/',
  'https://münchen.de/straße?größe=1',
  'https://例え.jp/',
  'https://0x7f.com/',
  'https://1password.com/',
  'https://9gag.com/',
  'https://example.com/a%20b?c=%40%5C#frag',
  'https://example.com/👩‍💻',
  'http://8.8.8.8/',
  'http://1.1.1.1:8080/',
  'http://172.15.0.1/',
  'http://172.32.0.1/',
  'http://192.167.1.1/',
  'http://100.63.0.1/',
  'http://100.128.0.1/',
  'http://11.0.0.1/',
  'http://169.253.1.1/',
  'https://[2606:4700:4700::1111]/',
  'https://[2a00:1450:4001:80b::200e]:8443/x',
  'https://[2001:4860:4860:0:0:0:0:8888]/',
];

describe('A harmless URL is allowed, whatever it looks like', () => {
  test.each(BENIGN)('%s', async (url) => {
    const world = fetchWorld({ resolve: async () => [PUBLIC, '2606:2800:220:1::1'] });
    expect(await world.checkUrl(url)).toMatchObject({ decision: 'allow', opened: false });
    expect(world.dialed).toEqual([]);
  });

  test('also when it is one that a NAT64 resolver answers for', async () => {
    const world = fetchWorld({ names: { 'name.example.com': [[PUBLIC, '64:ff9b::5db8:d822']] } });
    expect(await failureOf(world.fetchGuarded('http://name.example.com/'))).toMatchObject({ code: 'fetch-failed' });
    expect(world.dialed).not.toEqual([]);
  });
});

test('a name of the own network is refused with the setting that opens it; that of a metadata service without', async () => {
  const world = fetchWorld();
  const why = async (url: string): Promise<string> => (await failureOf(world.fetchGuarded(url))).message;
  expect(await why('http://printer.local/')).toContain('tools.web.allowHosts');
  expect(await why('http://metadata.google.internal/')).not.toContain('allowHosts');
});

test('What the text of a URL decides is decided without a look-up of its name', async () => {
  const world = fetchWorld();
  expect(await world.checkUrl('http://pin-4711.example.com/')).toMatchObject({ decision: 'allow' });
  expect(await world.checkUrl('http://metadata.google.internal/')).toMatchObject({ decision: 'deny' });
  expect(world.resolved).toEqual([]);
});

test('A name that cannot be resolved fails to be fetched for that reason', async () => {
  const world = fetchWorld({ names: { 'empty.example.com': [[]] } });
  for (const url of ['http://nowhere.example.com/', 'http://empty.example.com/']) {
    expect(await failureOf(world.fetchGuarded(url))).toMatchObject({ code: 'fetch-failed', kind: 'dns' });
  }
});

describe('Hosts of the lists', () => {
  const names = {
    'nas.example.com': [['192.168.1.5']],
    'a.example.org': [['10.0.0.5']],
    'example.org': [['10.0.0.5']],
    'evil.example.net': [['169.254.169.254']],
    'mapped.example.net': [['::ffff:169.254.169.254']],
    'zero.example.net': [['0.0.0.0']],
    'public.example.net': [[PUBLIC]],
    nas: [['192.168.1.5']],
    'printer.local': [['169.254.3.4']],
    'metadata.google.internal': [[PUBLIC]],
  };
  const allows = async (allowHosts: string[], url: string, denyHosts: string[] = []): Promise<boolean> => {
    const failure = await failureOf(fetchWorld({ names, allowHosts, denyHosts }).fetchGuarded(url));
    // Nothing listens there, so what is not refused fails.
    return failure.code !== 'fetch-refused';
  };

  test.each([
    ['nas.example.com', 'http://nas.example.com/'],
    ['NAS.Example.Com.', 'http://nas.example.com:8080/'],
    ['nas.example.com:8080', 'http://nas.example.com:8080/'],
    ['nas.example.com:443', 'https://nas.example.com/'],
    ['*.example.org', 'http://a.example.org/'],
    ['nas', 'http://nas/'],
    ['*.local', 'http://printer.local/'],
    ['printer.local:22', 'http://printer.local:22/'],
    ['127.0.0.1', 'http://127.0.0.1:1234/'],
    ['127.0.0.1:1234', 'http://127.0.0.1:1234/'],
    ['::1', 'http://[::1]/'],
    ['[::1]:3000', 'http://[::1]:3000/'],
    ['fd00::1', 'http://[fd00::1]/'],
  ])('are opened by name: %s opens %s', async (entry, url) => {
    expect(await allows([entry], url)).toBe(true);
  });

  test.each([
    ['nas.example.com:8080', 'http://nas.example.com/'],
    ['example.com', 'http://nas.example.com/'],
    ['*.example.org', 'http://example.org/'],
    ['*.ample.org', 'http://a.example.org/'],
    ['192.168.1.5', 'http://nas.example.com/'],
    ['127.0.0.1', 'http://2130706433/'],
    ['127.0.0.1', 'http://user@127.0.0.1/'],
    ['127.0.0.1:1234', 'http://127.0.0.1:1235/'],
  ])('open nothing but what they name: %s does not open %s', async (entry, url) => {
    expect(await allows([entry], url)).toBe(false);
  });

  test.each([
    ['169.254.169.254', 'http://169.254.169.254/'],
    ['fd00:ec2::254', 'http://[fd00:ec2::254]/'],
    ['*.internal', 'http://metadata.google.internal/'],
    ['metadata.google.internal', 'http://metadata.google.internal/'],
    ['*.example.net', 'http://evil.example.net/'],
    ['mapped.example.net', 'http://mapped.example.net/'],
    ['zero.example.net', 'http://zero.example.net/'],
    ['0.0.0.0', 'http://0.0.0.0/'],
  ])('never open what a cloud hides: %s does not open %s', async (entry, url) => {
    expect(await allows([entry], url)).toBe(false);
  });

  test.each([
    ['public.example.net', 'http://public.example.net/'],
    ['*.example.net', 'http://public.example.net/'],
    ['*', 'http://public.example.net/'],
    ['public.example.net:80', 'http://public.example.net/'],
    [PUBLIC, 'http://public.example.net/'],
    ['public.example.net', 'http://PUBLIC.example.net./'],
  ])('are closed even when they are opened too: %s closes %s', async (entry, url) => {
    expect(await allows(['public.example.net'], url, [entry])).toBe(false);
    expect(await allows(['public.example.net'], url)).toBe(true);
  });

  test.each([
    '',
    '*',
    '*.com',
    'http://example.com',
    'a b',
    'example.com/x',
    'user@host',
    'host:0',
    'host:70000',
    '*.*.com',
    '*.1.2',
    '%zz',
  ])('cannot be opened by %j', (entry) => {
    expect(() => fetchWorld({ allowHosts: [entry] })).toThrow(/tools\.web\.allowHosts: expected hosts like/);
  });
});

test('An address in a network of this machine is refused, unless its host is opened', async () => {
  const options = {
    names: { 'neighbour.example.com': [['2a02:908:1::5']] },
    ownNetworks: () => ['127.0.0.1/8', '2a02:908:1::1/64'],
  };
  const url = 'http://neighbour.example.com/';
  const codeOf = async (allowHosts: string[], address: string): Promise<unknown> =>
    (await failureOf(fetchWorld({ ...options, allowHosts }).fetchGuarded(address))).code;
  expect(await codeOf([], url)).toBe('fetch-refused');
  expect(await codeOf(['neighbour.example.com'], url)).toBe('fetch-failed');
  expect(await codeOf([], 'http://[2a02:908:2::5]/')).toBe('fetch-failed');
});

test('only what the owner may open is said to be opened by name', async () => {
  const why = async (address: string): Promise<string> => (await failureOf(fetchWorld().fetchGuarded(address))).message;
  expect(await why('http://10.0.0.1/')).toContain('tools.web.allowHosts');
  expect(await why('http://169.254.169.254/')).not.toContain('tools.web.allowHosts');
});
