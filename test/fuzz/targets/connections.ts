// SPDX-License-Identifier: Apache-2.0
// What comes over a connection to the API server, and what clients of clusters read.
import { isDeepStrictEqual } from "node:util";
import {
  certificatesProblem,
  createAuthority,
  issueCertificate,
  keyPairProblem,
  readValidity,
  signingRequestProblem,
} from "../../../packages/certificates/src/index.ts";
import { readIssuer } from "../../../packages/certificates/src/issuer.ts";
import { parseCertificates } from "../../../packages/certificates/src/peer/verified-connection.ts";
import { parseYaml } from "../../../packages/cli/src/files/yaml-file.ts";
import { isUserError } from "../../../packages/cli/src/user-error.ts";
import { parseAccept } from "../../../packages/kube-apiserver/src/request/negotiate.ts";
import { decodeContinue } from "../../../packages/kube-apiserver/src/rest/list.ts";
import { definitionsPath, widgetCrd } from "../../../packages/kube-apiserver/test/test-server.ts";
import { uriProblem } from "../../../packages/kube-builtin/src/checks/addresses.ts";
import { startTestServer, type TestServer } from "../../../packages/kube-builtin/test/index.ts";
import { parseWarnings } from "../../../packages/kube-client/src/https-transport.ts";
import { accessFromKubeconfig, checkKubeconfig } from "../../../packages/kube-client/src/index.ts";
import { type Frame, FrameReader, maxFrameBytes } from "../../../packages/kube-client/src/websocket-frames.ts";
import { isStatusError } from "../../../packages/kube-objects/src/errors/index.ts";
import { accepted, acceptedAsync, isRefusal, property, type Target } from "../engine/target.ts";

const unexpected: unknown[] = [];
let started: Promise<TestServer> | undefined;

/** A server with a custom kind. */
async function startServer(): Promise<TestServer> {
  const server = await startTestServer({ onUnexpected: (error) => unexpected.push(error) });
  await server.post(definitionsPath, widgetCrd);
  await server.until("/apis/example.org/v1", (response) => response.code === 200);
  return server;
}

/** A request as text: the first line is method and URL, then headers, an empty line, and the body. */
function requestOf(input: Buffer): { readonly url: string; readonly options: object; readonly isWatch: boolean } {
  const blank = input.indexOf("\n\n");
  const head = input.subarray(0, blank === -1 ? input.length : blank).toString("latin1");
  const [first = "", ...lines] = head.split("\n");
  const [method = "GET", url = "/"] = first.split(" ");
  const headers = Object.fromEntries(
    lines.flatMap((line) => {
      const colon = line.indexOf(":");
      return colon < 1 ? [] : [[line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]];
    }),
  );
  const body = blank === -1 ? {} : { text: input.subarray(blank + 2) };
  return { url, options: { method, headers, ...body }, isWatch: /watch/.test(url) };
}

const configMaps = "/api/v1/namespaces/default/configmaps";
const object = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"b"}}';

export const http: Target = {
  covers: ["kube-apiserver/src", "kube-objects/src"],
  dictionary: [
    ...[
      "GET ",
      "POST ",
      "PUT ",
      "PATCH ",
      "DELETE ",
      "HEAD ",
      configMaps,
      "/apis/apps/v1/deployments",
      "/api/v1",
      "/openapi/v3",
      "/version",
      "/healthz",
      "/status",
      "/scale",
    ],
    ...[
      "?limit=1",
      "&continue=",
      "&labelSelector=",
      "&fieldSelector=metadata.name%3Da",
      "&resourceVersion=",
      "&dryRun=All",
      "&fieldManager=m",
      "&force=true",
      "&pretty=1",
      "%2f",
      "%00",
      "%",
    ],
    ...[
      "accept: application/json;as=Table;v=v1;g=meta.k8s.io\n",
      "content-type: application/yaml\n",
      "content-type: application/merge-patch+json\n",
      "content-type: application/apply-patch+yaml\n",
      "content-type: application/json-patch+json\n",
    ],
    ...[
      "impersonate-user: a\n",
      "impersonate-extra-a: b\n",
      "\n\n",
      '"metadata":{',
      '"apiVersion":"v1"',
      '"kind":"Secret"',
      "{",
      "}",
    ],
  ],
  seeds: [
    `GET ${configMaps}?limit=5&labelSelector=a%3Db`,
    `POST ${configMaps}?fieldManager=m\ncontent-type: application/json\n\n${object}`,
    `PATCH ${configMaps}/a?fieldManager=m\ncontent-type: application/apply-patch+yaml\n\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: c}\n`,
    `PATCH ${configMaps}/a\ncontent-type: application/json-patch+json\n\n[{"op":"add","path":"/data/x","value":"y"}]`,
    `PUT ${configMaps}/a\n\n${object}`,
    `DELETE ${configMaps}/a\n\n{"propagationPolicy":"Foreground"}`,
    "GET /api/v1/namespaces/default/pods?fieldSelector=spec.nodeName%3Dx\naccept: application/json;as=Table;v=v1;g=meta.k8s.io",
    'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews\n\n{"spec":{"resourceAttributes":{"verb":"get"}}}',
    'POST /apis/example.org/v1/namespaces/default/widgets?fieldValidation=Warn\n\n{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"replicas":1}}',
    'PATCH /apis/example.org/v1/namespaces/default/widgets/w\ncontent-type: application/merge-patch+json\n\n{"apiVersion":"a/b/c"}',
    'POST /apis/example.org/v1/namespaces/default/widgets?fieldValidation=Warn\n\n{"apiVersion":"a/b/c","kind":"Widget","metadata":{"name":"w"}}',
    'PUT /apis/example.org/v1/namespaces/default/widgets/w/scale\n\n{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"w"},"spec":{"replicas":2}}',
    "GET /apis\naccept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    "GET /openapi/v2\naccept: application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
  ],
  async run(input) {
    started ??= startServer();
    const { url, options, isWatch } = requestOf(input);
    // A watch does not end by itself.
    if (isWatch) return;
    const response = await (await started).send(url, options);
    // The reference itself answers 500 to some requests; an error that the server did not foresee is a bug.
    const [error] = unexpected.splice(0);
    if (error !== undefined) throw error;
    if (response.kind === "complete") response.payload?.chunks();
  },
  close: async () => (await started)?.[Symbol.asyncDispose](),
};

export const headers: Target = {
  covers: ["kube-apiserver/src/request", "kube-apiserver/src/rest/list.ts", "kube-client/src/https-transport.ts"],
  dictionary: [
    "application/json",
    ";",
    "q=0.5",
    ",",
    "*/*",
    "as=Table",
    "299 - ",
    '"',
    "\\",
    "eyJ2Ijoi",
    "meta.k8s.io/v1",
    "=",
  ],
  seeds: [
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;q=0.1",
    '299 - "a \\"b\\"" "d", 299 - "c"',
    Buffer.from('{"v":"meta.k8s.io/v1","rv":5,"start":"a\\u0000"}').toString("base64url"),
  ],
  growth: {
    clauses: (count) => "a/b;q=1,".repeat(count),
    warnings: (count) => '299 - "a",'.repeat(count),
    quotes: (count) => `299 - "${'\\"'.repeat(count)}`,
    spaces: (count) => `299${" ".repeat(count)}x`,
  },
  run(input) {
    const text = input.toString("latin1");
    parseAccept(text);
    parseWarnings(text);
    accepted(() => decodeContinue(text), isStatusError);
  },
};

const kubeconfigText = `apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: c, user: u, namespace: n}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1", certificate-authority-data: YQ==}}]
users: [{name: u, user: {token: t}}]
`;

export const kubeconfig: Target = {
  covers: ["kube-client/src", "cli/src/files"],
  dictionary: [
    "contexts: ",
    "clusters: ",
    "users: ",
    "[{name: a}]",
    "[null]",
    "context: ",
    "exec: {command: x}",
    "tokenFile: x",
    "client-key-data: YQ==",
    "auth-provider: {}",
    "[",
    "]",
    "{",
    "}",
    "null",
    "5",
  ],
  seeds: [kubeconfigText, "current-context: a\ncontexts: [{name: a}]\n", "current-context: a\ncontexts: {}\n"],
  async run(input) {
    const [document] = accepted(() => parseYaml(input.toString(), "config"), isUserError) ?? [];
    if (document === undefined) return;
    const config = accepted(() => checkKubeconfig(document.value, "config"), isRefusal);
    if (config === undefined) return;
    const options = { file: "/nonexistent/config", context: undefined, env: {} };
    await acceptedAsync(() => accessFromKubeconfig(config, options), isRefusal);
  },
};

const authority = createAuthority({ commonName: "a" });
const leaf = issueCertificate(authority, {
  commonName: "b",
  usages: ["server"],
  dnsNames: ["a.b"],
  ipAddresses: ["127.0.0.1"],
});
const derOf = (pem: string): Buffer => Buffer.from(pem.replace(/-----[^-]+-----|\n/g, ""), "base64");
const pemOf = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${der.toString("base64")}\n-----END CERTIFICATE-----\n`;
/** OpenSSL's own errors have a code. Errors of ours are plain. */
const isCertificateError = (error: unknown): boolean =>
  isRefusal(error) || (error instanceof Error && String((error as NodeJS.ErrnoException).code).startsWith("ERR_OSSL"));

/** A certificate signing request of an Ed25519 key, as OpenSSL writes it. */
const signingRequest =
  "MIIBAjCBtQIBADAvMRUwEwYDVQQKDAxzeXN0ZW06bm9kZXMxFjAUBgNVBAMMDXN5c3RlbTpub2RlOngwKjAFBgMrZXADIQCtHeTd" +
  "7iisUKEo+S67CfeGBpdRNJLQflIPkQVHwNXXq6BTMFEGCSqGSIb3DQEJDjFEMEIwQAYDVR0RBDkwN4INYS5leGFtcGxlLm9yZ4cE" +
  "CgAAAYYXaHR0cHM6Ly9hLmV4YW1wbGUub3JnL3iBB2FAYi5vcmcwBQYDK2VwA0EACny2Fs+PN02Nc23LCziRnPU2qew/w/Jnrpzl" +
  "yQ3X9yy9yK6hRiJVPRahw9PxW0yEjRyoMZJ+RMtaCLShzq/zBA==";

export const certificate: Target = {
  covers: ["certificates/src"],
  dictionary: [
    "\x30\x82",
    "\x02\x01",
    "\x06\x03\x55\x1d",
    "\xa0\x03",
    "\xa3",
    "\x04",
    "\x30\x80",
    "\x17\x0d",
    "-----BEGIN CERTIFICATE-----",
    "-----END CERTIFICATE-----",
    "\n-----END ",
    "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x09\x0e",
    "\x06\x07\x2a\x86\x48\xce\x3d\x02\x01",
    "\x86\x09https://x",
  ],
  seeds: [derOf(authority.certPem), derOf(leaf.certPem), authority.certPem, Buffer.from(signingRequest, "base64")],
  growth: {
    pem: (count) => "-----BEGIN CERTIFICATE-----".repeat(count),
    dashes: (count) => "-".repeat(count),
    blocks: (count) => "-----BEGIN A-----\nx-\n-----END A-----\n".repeat(count),
    headers: (count) => `-----BEGIN A-----\n${"a:\n".repeat(count)}\n-----END A-----\n`,
    sequences: (count) => "\x30\x00".repeat(count),
  },
  run(input) {
    for (const pem of [pemOf(input), input.toString("latin1")]) {
      accepted(() => parseCertificates(pem), isCertificateError);
      accepted(() => readValidity(pem), isCertificateError);
      accepted(() => readIssuer({ certPem: pem, keyPem: authority.keyPem }, new Date()), isCertificateError);
      const [bytes, key] = [Buffer.from(pem, "latin1"), Buffer.from(authority.keyPem)];
      const request = Buffer.from(pem.replaceAll("CERTIFICATE-----", "CERTIFICATE REQUEST-----"), "latin1");
      // These answer about everything, so none of them may throw.
      signingRequestProblem(request, uriProblem);
      certificatesProblem(bytes, uriProblem);
      keyPairProblem({ certificate: bytes, key, uriProblem });
      keyPairProblem({ certificate: Buffer.from(authority.certPem), key: bytes, uriProblem });
    }
  },
};

/** The frames in chunks, as far as they can be read. */
function framesIn(chunks: readonly Buffer[]): readonly Frame[] {
  const reader = new FrameReader();
  const frames: Frame[] = [];
  accepted(() => {
    for (const chunk of chunks) for (const frame of reader.read(chunk)) frames.push(frame);
  }, isRefusal);
  return frames;
}

export const webSocketFrames: Target = {
  covers: ["kube-client/src"],
  dictionary: ["\x82\x03\x00\x90\x1f", "\x02\x01", "\x80\x00", "\x88\x02\x03\xe8", "\x89\x00", "\x82\x7e", "\x82\x7f"],
  seeds: ["\x82\x03\x00\x90\x1f\x82\x04\x00abc\x88\x02\x03\xe8", "\x02\x01\x00\x80\x02hi", "\x82\x7e\x00\x03abc"].map(
    (text) => Buffer.from(text, "latin1"),
  ),
  growth: { frames: (count) => "\x82\x01a".repeat(count), empty: (count) => "\x82\x00".repeat(count) },
  run(input) {
    const whole = framesIn([input]);
    // However a connection splits what was sent, the frames are the same.
    const single = framesIn(Array.from(input, (byte) => Buffer.of(byte)));
    property(isDeepStrictEqual(whole, single), "frames depend on how their bytes arrive");
    property(
      whole.every(({ payload }) => payload.length <= maxFrameBytes),
      "a frame is larger than allowed",
    );
  },
};
