// SPDX-License-Identifier: Apache-2.0
// A small API server of another process's kind: one group version, served over HTTPS, to which API servers forward requests.
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { createAuthority, issueCertificate } from "@purlin/certificates";

export const group = "wardle.example.com";
export const groupVersion: string = `${group}/v1`;

/** A request as the server received it. */
interface Received {
  readonly line: string;
  /** Name and value of each header, in lower case, sorted. */
  readonly headers: readonly string[];
  /** The common name in a client certificate of a trusted authority. */
  readonly client: string | undefined;
}

/** The server, and what it has received. */
export interface AggregatedServer extends AsyncDisposable {
  readonly port: number;
  /** PEM in base64, as in an APIService. */
  readonly caBundle: string;
  /** Responds to everything with 500 while false. */
  isHealthy: boolean;
  /** The requests for objects since the last call. */
  take(): Received[];
  /** Lets watches send their second event. */
  release(): void;
}

/** Starts one. `clientAuthorities` issue the certificates of the API servers. */
export async function startAggregatedServer(
  name: string,
  clientAuthorities: readonly string[],
): Promise<AggregatedServer> {
  const authority = createAuthority({ commonName: "aggregated" });
  const { certPem: cert, keyPem: key } = issueCertificate(authority, {
    commonName: name,
    dnsNames: [`${name}.default.svc`],
    usages: ["server"],
  });
  const received: Received[] = [];
  const waiting = new Set<() => void>();
  const upgraded = new Set<Duplex>();
  const client = { ca: [...clientAuthorities], requestCert: true, rejectUnauthorized: false };
  // Idle connections stay open. A client that sends a request while the server closes the connection gets a reset.
  const options = { cert, key, ...client, keepAliveTimeout: 0 };
  const server = createServer(options, (request, response) => {
    if (!running.isHealthy) {
      response.writeHead(500).end("{}");
      return;
    }
    if ((request.url ?? "").includes("/flunders")) received.push(receivedOf(request));
    respond(request, response, (callback) => waiting.add(callback));
  });
  server.on("upgrade", (request, socket, head) => {
    received.push(receivedOf(request));
    upgraded.add(socket.on("error", () => {}));
    switchProtocols(request, socket, head);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const running: AggregatedServer = {
    port: (server.address() as AddressInfo).port,
    caBundle: Buffer.from(authority.certPem).toString("base64"),
    isHealthy: true,
    take: () => received.splice(0),
    release() {
      for (const callback of waiting) callback();
      waiting.clear();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      for (const socket of upgraded) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
  return running;
}

function receivedOf(request: IncomingMessage): Received {
  const socket = request.socket as TLSSocket;
  const headers = Object.entries(request.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value) => `${name}: ${value}`),
  );
  const client = socket.authorized ? String(socket.getPeerCertificate().subject.CN) : undefined;
  return { line: `${request.method} ${request.url}`, headers: headers.sort(), client };
}

const resources = [
  {
    name: "flunders",
    singularName: "flunder",
    namespaced: true,
    kind: "Flunder",
    shortNames: ["fl"],
    categories: ["all"],
    verbs: ["create", "get", "list", "watch"],
  },
  { name: "flunders/status", singularName: "", namespaced: true, kind: "Flunder", verbs: ["get"] },
];
const documents: Readonly<Record<string, object>> = {
  [`/apis/${groupVersion}`]: { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources },
  "/openapi/v2": {
    swagger: "2.0",
    info: { title: "wardle", version: "1" },
    paths: { [`/apis/${groupVersion}/`]: { get: { operationId: "x", responses: { 200: { description: "OK" } } } } },
    definitions: { "com.example.wardle.Flunder": { type: "object", properties: { spec: { type: "string" } } } },
  },
  "/openapi/v3": {
    paths: { [`apis/${groupVersion}`]: { serverRelativeURL: `/openapi/v3/apis/${groupVersion}?hash=A` } },
  },
  [`/openapi/v3/apis/${groupVersion}`]: { openapi: "3.0.0", info: { title: "wardle", version: "1" }, paths: {} },
};

function respond(request: IncomingMessage, response: ServerResponse, later: (callback: () => void) => void): void {
  const [path = "", query = ""] = (request.url ?? "").split("?");
  const json = (code: number, value: object): void => {
    response.writeHead(code, { "content-type": "application/json", etag: '"A"', "x-own": "1" });
    response.end(JSON.stringify(value));
  };
  const found = documents[path];
  if (found !== undefined) {
    json(200, found);
    return;
  }
  if (query.includes("watch=true")) {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"type":"ADDED","object":{"n":1}}\n');
    later(() => response.end('{"type":"ADDED","object":{"n":2}}\n'));
    return;
  }
  switch (path.split("/").at(-1)) {
    case "hello":
    case "flunders":
      json(200, { apiVersion: groupVersion, kind: "Flunder", metadata: { name: "hello" } });
      return;
    case "gone":
      request.socket.destroy();
      return;
    case "partly":
      response.writeHead(200, { "content-type": "application/json" });
      response.write("part");
      setTimeout(() => response.destroy(), 50);
      return;
    case "redirected":
      response.writeHead(302, { location: "https://127.0.0.1:1/x" }).end();
      return;
    default:
      json(404, { kind: "Status", apiVersion: "v1", status: "Failure", code: 404, message: "not here" });
  }
}

const switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\nX-Own: 1\r\n\r\n";
const refused = "HTTP/1.1 403 Forbidden\r\nX-Own: 1\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nno!";

/** What the last part of the path says. */
function switchProtocols(request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const [path = ""] = (request.url ?? "").split("?", 1);
  switch (path.split("/").at(-1) ?? "") {
    case "echo":
      socket.write(`${switching}early `);
      socket.write(head);
      socket.on("data", (bytes) => socket.write(bytes));
      socket.on("end", () => socket.end());
      return;
    case "last":
      socket.end(`${switching}last words`);
      return;
    case "cut":
      socket.write(`${switching}part`, () => socket.destroy());
      return;
    case "refused":
      socket.write(refused);
      // A server that continues to read would take what follows for another request.
      socket.on("data", () => {});
      return;
    case "plain":
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      return;
    case "moved":
      socket.write("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n");
      return;
    case "closed":
      socket.destroy();
      return;
    case "garbage":
      socket.end("SMTP ready\r\n\r\n");
      return;
    default:
    // "silent" never answers.
  }
}
