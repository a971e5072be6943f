// SPDX-License-Identifier: Apache-2.0
import { printJson } from "@purlin/kube-objects/json";
import type { AccessAttributes } from "../auth/authorizer.ts";
import type { User } from "../auth/user.ts";
import type { ApiRequest } from "../request/api-request.ts";
import { type AuditPolicy, decideAudit } from "./audit-policy.ts";
import { AuditRecord } from "./audit-record.ts";

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
