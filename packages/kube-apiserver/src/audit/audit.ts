// SPDX-License-Identifier: Apache-2.0

import { randomUUID } from "node:crypto";
import { inTurns } from "@purlin/base";
import { isJsonObject, type JsonObject, type JsonValue, parseJson, printJson } from "@purlin/kube-objects/json";
import type { AccessAttributes, AccessDecision } from "../auth/authorizer.ts";
import type { User } from "../auth/user.ts";
import type {
  ApiRequest,
  ApiResponse,
  CompleteResponse,
  Payload,
  RequestAudit,
  StreamResponse,
} from "../request/api-request.ts";
import { type AuditDecision, type AuditPolicy, type AuditStage, decideAudit } from "./audit-policy.ts";

/** Which requests are logged, and where to. */
export interface AuditOptions {
  readonly policy: AuditPolicy;
  /** Takes one event: JSON that ends with a line break. */
  readonly write: (line: string) => void;
}

/** Begins the record of a request; undefined where the policy does not log it. */
export type BeginAudit = (
  request: Pick<ApiRequest, "path" | "query" | "headers" | "origin">,
  user: User | undefined,
  access: AccessAttributes,
) => AuditRecord | undefined;

/** The audit log of a server. */
export function createAudit({ policy, write }: AuditOptions): BeginAudit {
  const now = (): number => performance.timeOrigin + performance.now();
  return (request, user, access) => {
    const decision = decideAudit(policy, user, access);
    if (decision.level === "None") return undefined;
    const emit = (event: Parameters<typeof printJson>[0]): void => write(`${printJson(event, { htmlSafe: true })}\n`);
    return new AuditRecord({ request, user, access, decision, emit, now });
  };
}

interface AuditRecordOptions {
  readonly request: Pick<ApiRequest, "path" | "query" | "headers" | "origin">;
  /** Undefined: the credentials of the request are not valid. */
  readonly user: User | undefined;
  readonly access: AccessAttributes;
  readonly decision: AuditDecision;
  readonly emit: (event: JsonObject) => void;
  /** Milliseconds since 1970, with fractions. */
  readonly now: () => number;
}

/** What is known about one request for the audit log. It emits an event at each stage that the policy does not leave out. */
class AuditRecord implements RequestAudit {
  readonly #options: AuditRecordOptions;
  readonly #id: string;
  readonly #received: string;
  #impersonated: User | undefined;
  #constraint: string | undefined;
  readonly #annotations = new Map<string, string>();
  #body: JsonValue | undefined;
  #object: JsonObject | undefined;
  #status: JsonObject | undefined;
  #response: JsonValue | undefined;

  constructor(options: AuditRecordOptions) {
    this.#options = options;
    this.#id = options.request.origin?.auditId ?? randomUUID();
    this.#received = timestamp(options.now());
    this.#emit("RequestReceived");
  }

  impersonates(user: User, constraint?: string): void {
    this.#impersonated = user;
    this.#constraint = constraint;
  }

  decided({ allowed, reason }: AccessDecision): void {
    this.annotate("authorization.k8s.io/decision", allowed ? "allow" : "forbid");
    this.annotate("authorization.k8s.io/reason", reason);
  }

  annotate(key: string, value: string, { isBody = false }: { readonly isBody?: boolean } = {}): void {
    if (isBody && this.#options.decision.level === "Metadata") return;
    if (!this.#annotations.has(key)) this.#annotations.set(key, value);
  }

  requested(object: JsonObject): void {
    this.#body = object;
    this.#object = object;
  }

  requestedWith(value: JsonValue): void {
    this.#body = value;
  }

  /** Called with the response; resolves to the one to send. */
  async completed(response: ApiResponse): Promise<ApiResponse> {
    if (response.kind === "stream") return this.#streamed(response);
    const isWhole = this.#options.decision.level === "RequestResponse" && this.#options.access.kind === "resource";
    const sent = isWhole ? await rendered(response) : response;
    this.#note(sent, isWhole);
    this.#emit("ResponseComplete");
    return sent;
  }

  /** Called with the response to a request whose credentials are not valid. */
  rejected(response: CompleteResponse): void {
    this.#note(response, this.#options.decision.level === "RequestResponse");
    this.#emit("ResponseStarted");
  }

  #note({ code, payload }: CompleteResponse, isWhole: boolean): void {
    const isStatus = code >= 400 || this.#options.access.verb === "delete";
    const value = isWhole ? payload && wireValue(payload) : isStatus ? payload?.value() : undefined;
    const { kind, apiVersion: _, ...status } = isJsonObject(value) ? value : { kind: "", apiVersion: "" };
    this.#status = { metadata: {}, ...(kind === "Status" && status), code };
    if (isWhole && isJsonObject(value)) this.#response = value;
  }

  #streamed(response: StreamResponse): StreamResponse {
    this.#status = { metadata: {}, code: response.code };
    this.#emit("ResponseStarted");
    const open: StreamResponse["open"] = (onReady) => {
      const stream = response.open(onReady);
      let isOpen = true;
      const ended = (): void => {
        if (isOpen) this.#emit("ResponseComplete");
        isOpen = false;
      };
      return {
        take: () => {
          const events = stream.take();
          if (events === undefined) ended();
          return events;
        },
        close: () => {
          ended();
          stream.close();
        },
      };
    };
    return { ...response, open };
  }

  #emit(stage: AuditStage): void {
    const { decision, emit } = this.#options;
    if (!decision.omitStages.has(stage)) emit(this.#event(stage));
  }

  /** The members in the order in which the reference writes them. */
  #event(stage: AuditStage): JsonObject {
    const { request, user, access, decision, now } = this.#options;
    const { level, omitManagedFields } = decision;
    const { uri, address } = request.origin ?? {};
    const body = (value: JsonValue): JsonValue => (omitManagedFields ? withoutManagers(value) : value);
    const isLogged = level === "Request" || level === "RequestResponse";
    const { "user-agent": agent } = request.headers;
    return {
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level,
      auditID: this.#id,
      stage,
      requestURI: uri ?? uriOf(request),
      verb: access.verb,
      user: userOf(user),
      ...(this.#impersonated && { impersonatedUser: userOf(this.#impersonated) }),
      ...(this.#constraint && { authenticationMetadata: { impersonationConstraint: this.#constraint } }),
      ...(address !== undefined && { sourceIPs: [address] }),
      ...(agent !== undefined && { userAgent: agent }),
      ...(access.kind === "resource" && { objectRef: this.#reference(access) }),
      ...(this.#status && { responseStatus: this.#status }),
      ...(isLogged && this.#body !== undefined && { requestObject: body(this.#body) }),
      ...(this.#response !== undefined && { responseObject: body(this.#response) }),
      requestReceivedTimestamp: this.#received,
      stageTimestamp: stage === "RequestReceived" ? this.#received : timestamp(now()),
      ...(this.#annotations.size > 0 && { annotations: sorted(this.#annotations) }),
    };
  }

  /** What the URL leaves open is in the object. */
  #reference(access: AccessAttributes & { readonly kind: "resource" }): JsonObject {
    const metadata = this.#object?.["metadata"];
    const own = isJsonObject(metadata) ? metadata : {};
    const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");
    return present({
      resource: access.resource,
      namespace: access.namespace || text(own["namespace"]),
      name: access.name || text(own["name"]),
      uid: text(own["uid"]),
      apiGroup: access.group,
      apiVersion: access.version,
      resourceVersion: text(own["resourceVersion"]),
      subresource: access.subresource,
    });
  }
}

/** The response with its bytes made, in turns: they are needed twice. */
async function rendered(response: CompleteResponse): Promise<CompleteResponse> {
  const { payload } = response;
  if (payload === undefined) return response;
  const chunks = payload.rendering === undefined ? payload.chunks() : await inTurns(payload.rendering());
  return {
    ...response,
    payload: { contentType: payload.contentType, chunks: () => chunks, value: () => payload.value() },
  };
}

/** What is on the wire: items of lists that are not custom have no type there. */
function wireValue(payload: Payload): JsonValue {
  if (!payload.contentType.startsWith("application/json")) return payload.value();
  return parseJson(Buffer.concat(payload.chunks()).toString("utf8"));
}

function userOf(user: User | undefined): JsonObject {
  if (user === undefined) return {};
  const { name, uid, groups, extra } = user;
  return {
    username: name,
    ...(uid && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(extra && { extra: extra as JsonObject }),
  };
}

function uriOf({ path, query }: Pick<ApiRequest, "path" | "query">): string {
  return query.size === 0 ? path : `${path}?${query}`;
}

function present(value: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, text]) => text !== ""));
}

function sorted(annotations: ReadonlyMap<string, string>): JsonObject {
  return Object.fromEntries([...annotations].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Microseconds, as in `metav1.MicroTime`. */
function timestamp(milliseconds: number): string {
  const micros = Math.floor(milliseconds * 1000) % 1000;
  return `${new Date(Math.floor(milliseconds)).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}

/** Field ownership of an object, or of the objects of a list, is long. */
function withoutManagers(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  const { metadata, items } = value;
  const rest = isJsonObject(metadata) ? { ...value, metadata: withoutOwnership(metadata) } : value;
  return Array.isArray(items) ? { ...rest, items: items.map(withoutManagers) } : rest;
}

function withoutOwnership({ managedFields: _, ...metadata }: JsonObject): JsonObject {
  return metadata;
}
