// SPDX-License-Identifier: Apache-2.0
import type { ApiServerOptions } from "@purlin/kube-apiserver";
import { type CommandInput, listOption } from "../options/command-spec.ts";
import { UserError } from "../user-error.ts";

type WebhookTargets = NonNullable<ApiServerOptions["webhookTargets"]>;

const form = /^(?<service>[^/=:]+\/[^/=:]+:\d+)=(?<host>\[[^\]]+\]|[^/=:]+):(?<port>\d+)$/;

/** Reads --webhook-target: where webhooks of Services are. */
export function readWebhookTargets(input: CommandInput): WebhookTargets {
  return new Map(listOption(input, "webhookTarget").map(readTarget));
}

function readTarget(text: string): [string, { readonly host: string; readonly port: number }] {
  const { service = "", host = "", port = "" } = form.exec(text)?.groups ?? {};
  const isPort = (one: string): boolean => Number(one) >= 1 && Number(one) <= 65535;
  if (service === "" || !isPort(port) || !isPort(service.slice(service.lastIndexOf(":") + 1))) {
    const example = "default/hook:443=127.0.0.1:9443";
    throw new UserError(`--webhook-target ${text}: expected NAMESPACE/SERVICE:PORT=HOST:PORT, such as ${example}`, {
      exitCode: 2,
    });
  }
  return [service, { host: host.replace(/^\[|\]$/g, ""), port: Number(port) }];
}
