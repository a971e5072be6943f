// SPDX-License-Identifier: Apache-2.0
// A small API server of another process's kind: one group version, served over HTTPS, to which API servers forward requests.
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
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
  const options = { cert, key, ca: [...clientAuthorities], requestCert: true, rejectUnauthorized: false };
  const server = createServer(options, (request, response) => {
    if (!running.isHealthy) {
      response.writeHead(500).end("{}");
      return;
    }
    if ((request.url ?? "").includes("/flunders")) received.push(receivedOf(request));
    respond(request, response, (callback) => waiting.add(callback));
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
