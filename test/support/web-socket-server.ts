import { createHash } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

const MAGIC = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const TEXT = 0x1;
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;

/** One end of a WebSocket, as a server sees it. */
export interface ServerSocket {
  send(text: string): void;
  /** Says goodbye with a code, then ends the connection. */
  close(code: number): void;
  /** Breaks the connection without a word. */
  cut(): void;
  /** From now on nothing is read and nothing answered, and the connection stays. */
  mute(): void;
}

interface Handlers {
  readonly onText: (text: string) => void;
  readonly onClose: () => void;
}

/** Takes WebSocket connections of an HTTP server; `open` is called for each. */
export function acceptWebSockets(
  server: Server,
  open: (socket: ServerSocket, request: IncomingMessage) => Handlers | undefined,
): void {
  server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
    const key = String(request.headers['sec-websocket-key']);
    const accept = createHash('sha1').update(`${key}${MAGIC}`).digest('base64');
    socket.on('error', () => {});
    let isMute = false;
    const end: ServerSocket = {
      send: (text) => {
        if (!isMute && !socket.destroyed) socket.write(frame(TEXT, Buffer.from(text)));
      },
      close: (code) => {
        const body = Buffer.alloc(2);
        body.writeUInt16BE(code);
        if (!socket.destroyed) socket.end(frame(CLOSE, body));
      },
      cut: () => socket.destroy(),
      mute: () => {
        isMute = true;
      },
    };
    const handlers = open(end, request);
    if (handlers === undefined) {
      socket.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n');
      return;
    }
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    let rest: Buffer = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      if (isMute) return;
      rest = Buffer.concat([rest, chunk]);
      for (let read = unframe(rest); read !== undefined; read = unframe(rest)) {
        rest = read.rest;
        if (read.opcode === TEXT) handlers.onText(read.body.toString('utf8'));
        else if (read.opcode === PING) socket.write(frame(PONG, read.body));
        else if (read.opcode === CLOSE) socket.end(frame(CLOSE, read.body));
      }
    });
    socket.on('close', handlers.onClose);
  });
}

function frame(opcode: number, body: Buffer): Buffer {
  const head = [0x80 | opcode];
  if (body.length < 126) head.push(body.length);
  else if (body.length < 65_536) head.push(126, body.length >> 8, body.length & 0xff);
  else {
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(body.length));
    head.push(127, ...length);
  }
  return Buffer.concat([Buffer.from(head), body]);
}

/** The first whole frame; clients mask what they send and do not split what they send here. */
function unframe(bytes: Buffer): { readonly opcode: number; readonly body: Buffer; readonly rest: Buffer } | undefined {
  if (bytes.length < 2) return undefined;
  const opcode = bytes.readUInt8(0) & 0x0f;
  const short = bytes.readUInt8(1) & 0x7f;
  const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const start = 2 + lengthBytes + 4;
  if (bytes.length < start) return undefined;
  const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  if (bytes.length < start + length) return undefined;
  const mask = bytes.subarray(start - 4, start);
  const body = Buffer.from(bytes.subarray(start, start + length));
  for (const [n, byte] of body.entries()) body[n] = byte ^ (mask[n % 4] ?? 0);
  return { opcode, body, rest: bytes.subarray(start + length) };
}
