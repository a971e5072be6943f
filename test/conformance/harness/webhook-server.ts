// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { createAuthority, issueCertificate, type KeyPair } from "@purlin/certificates";
import { createCrossplaneAuthority, issueAsCrossplane } from "@purlin/certificates/testing";
import type { Loose } from "./loose.ts";
import type { Session } from "./session.ts";

/** What a webhook does with a review: the body to answer with, or a whole answer. */
export type WebhookAnswer = (review: Loose, path: string) => Loose | Promise<Loose>;

/** Answers with a code, headers and a text instead of JSON. */
export interface RawAnswer {
  readonly code?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly raw: string;
}

/** A webhook on loopback. */
export interface WebhookServer {
  readonly url: string;
  readonly port: number;
  readonly caBundle: string;
  /** The certificate of the webhook itself, without its authority. */
  readonly leafBundle: string;
  /** The paths that were called, in order. */
  readonly called: string[];
  /** The reviews that were received. */
  readonly reviews: Loose[];
  stop(): Promise<void>;
}

const leaf = {
  commonName: "webhook",
  dnsNames: ["localhost", "hook.default.svc"],
  ipAddresses: ["127.0.0.1"],
  usages: ["server"],
} as const;

interface Certificates {
  readonly authority: KeyPair;
  readonly pair: KeyPair;
}

const usualAuthority = createAuthority({ commonName: "webhooks" });
const usual: Certificates = { authority: usualAuthority, pair: issueCertificate(usualAuthority, leaf) };

/** Certificates as Crossplane issues them: authority and leaf have one subject, and the leaf has no key identifiers. */
export function crossplaneCertificates(): Certificates {
  const authority = createCrossplaneAuthority();
  return { authority, pair: issueAsCrossplane(authority, leaf) };
}

/** Starts a webhook. Its address and authority are masked in the transcript. Reviews of `/probe` are always allowed. */
export async function startWebhook(
  session: Pick<Session, "mask">,
  answer: WebhookAnswer,
  { authority, pair }: Certificates = usual,
): Promise<WebhookServer> {
  const called: string[] = [];
  const reviews: Loose[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const review = text === "" ? {} : JSON.parse(text);
    const path = request.url ?? "";
    called.push(path);
    reviews.push(review);
    const made = path.startsWith("/probe") ? allow(review) : await answer(review, path);
    const {
      code = 200,
      headers = { "content-type": "application/json" },
      raw,
    } = isRaw(made) ? made : { raw: JSON.stringify(made) };
    response.writeHead(code, headers).end(raw);
  };
  // Idle connections stay open. A client that sends a request while the server closes the connection gets a reset.
  const options = { key: pair.keyPem, cert: pair.certPem, keepAliveTimeout: 0 };
  const server = createServer(options, (request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const caBundle = Buffer.from(authority.certPem).toString("base64");
  session.mask(`127.0.0.1:${port}`, "<webhook>");
  session.mask(`localhost:${port}`, "<webhook>");
  session.mask(`svc:${port}`, "svc:<port>");
  session.mask(caBundle, "<ca>");
  const leafBundle = Buffer.from(pair.certPem).toString("base64");
  return { url: `https://127.0.0.1:${port}`, port, caBundle, leafBundle, called, reviews, stop: () => stop(server) };
}

function isRaw(answer: Loose): answer is RawAnswer {
  return typeof answer?.raw === "string";
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
}

/** The review that allows a request. */
export function allow(review: Loose, more: Loose = {}): Loose {
  return respond(review, { allowed: true, ...more });
}

/** The review with a response. */
export function respond(review: Loose, response: Loose): Loose {
  return {
    apiVersion: review.apiVersion,
    kind: "AdmissionReview",
    response: { uid: review.request?.uid, ...response },
  };
}

/** A response with a JSON patch. */
export function patching(review: Loose, operations: Loose, more: Loose = {}): Loose {
  const patch = Buffer.from(typeof operations === "string" ? operations : JSON.stringify(operations)).toString(
    "base64",
  );
  return allow(review, { patch, patchType: "JSONPatch", ...more });
}

const admission = "/apis/admissionregistration.k8s.io/v1";

type ConfigurationKind = "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration";

/** Registers webhooks for the namespace of the session and waits until they are called. Not part of the transcript. */
export async function withWebhooks(
  session: Session,
  { kind, hook, webhooks }: { kind: ConfigurationKind; hook: WebhookServer; webhooks: readonly Loose[] },
): Promise<() => Promise<void>> {
  const name = `${session.namespace}-${kind.toLowerCase()}`.slice(0, 60);
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": session.namespace } };
  const probe = {
    name: "probe.test.example.org",
    clientConfig: { url: `${hook.url}/probe`, caBundle: hook.caBundle },
    objectSelector: { matchLabels: { probe: kind } },
    ...everyWrite,
  };
  const all = [...webhooks, probe].map((one) => ({ namespaceSelector, ...one }));
  const path = `${admission}/${kind.toLowerCase()}s`;
  const body = { apiVersion: "admissionregistration.k8s.io/v1", kind, metadata: { name }, webhooks: all };
  const made = await session.post(path, body, { quiet: true });
  if (made.code !== 201) throw new Error(`cannot register webhooks: ${made.text}`);
  const seen = (): boolean => hook.called.some((one) => one.startsWith("/probe"));
  hook.called.length = 0;
  while (!seen()) {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "probe", labels: { probe: kind } } };
    await session.post(`/api/v1/namespaces/${session.namespace}/configmaps?dryRun=All`, object, { quiet: true });
    await delay(20);
  }
  hook.called.length = 0;
  hook.reviews.length = 0;
  return async () => {
    await session.delete(`${path}/${name}`, undefined, { quiet: true });
  };
}

/** A webhook for all writes of all resources, without its name and address. */
export const everyWrite: Loose = {
  rules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"] }],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
};
