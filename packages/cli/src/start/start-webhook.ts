// SPDX-License-Identifier: Apache-2.0
import { type Log, systemClock } from "@purlin/base";
import { removeUsageWebhook, startUsageWebhook, type UsageWebhook } from "@purlin/control-plane";
import type { KubeClient } from "@purlin/kube-client";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { textOf, UserError } from "../user-error.ts";
import { portOption } from "./start-input.ts";

interface WebhookDeps {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly log: Log;
}

/**
 * Opens the webhook of deletions, which every replica serves; the leader lets the API server call it. While Usages are off, it protects
 * managed resource definitions only. Without webhooks, the leader removes the configuration instead.
 */
export async function openUsageWebhook(
  input: CommandInput,
  { env, signal }: Pick<Io, "env" | "signal">,
  { client, namespace, log }: WebhookDeps,
): Promise<Pick<UsageWebhook, "configure"> & AsyncDisposable> {
  const url = readUrl(input);
  const failurePolicy = readPolicy(input);
  const usages = isSet(input, "enableUsages");
  const remove = closed((stopping) => removeUsageWebhook(client, stopping));
  if (!isSet(input, "enableWebhooks")) return remove;
  if (url === undefined && !env["KUBERNETES_SERVICE_HOST"]) {
    const reason = "the API server cannot reach a process outside the cluster: set --webhook-url";
    if (!usages) return remove;
    log.info("Usages do not protect resources", { reason });
    return closed(async () => {});
  }
  const port = Number(portOption(input, "webhookPort"));
  try {
    const webhook = await startUsageWebhook(
      {
        client,
        namespace,
        url,
        failurePolicy,
        usages,
        listen: { port, host: url !== undefined && isLoopback(url) ? "127.0.0.1" : undefined },
        secretName: textOption(input, "tlsServerSecretName") ?? "",
        clock: systemClock,
        log,
      },
      signal,
    );
    log.info("serving webhooks", { port: webhook.port });
    return webhook;
  } catch (error) {
    throw new UserError(`cannot serve the webhook of deletions: ${textOf(error)}; see --enable-webhooks`, {
      cause: error,
    });
  }
}

function closed(configure: UsageWebhook["configure"]): Pick<UsageWebhook, "configure"> & AsyncDisposable {
  return { configure, async [Symbol.asyncDispose]() {} };
}

function isLoopback(url: string): boolean {
  return ["localhost", "127.0.0.1"].includes(new URL(url).hostname);
}

function readUrl(input: CommandInput): string | undefined {
  const text = textOption(input, "webhookUrl");
  if (text === undefined || (URL.canParse(text) && new URL(text).protocol === "https:")) return text;
  throw new UserError(`--webhook-url: expected a URL such as https://purlin.example.org:9443, not "${text}"`, {
    exitCode: 2,
  });
}

function readPolicy(input: CommandInput): "Fail" | "Ignore" {
  const text = textOption(input, "usageWebhookFailurePolicy") ?? "Fail";
  if (text === "Fail" || text === "Ignore") return text;
  throw new UserError(`--usage-webhook-failure-policy: expected Fail or Ignore, not "${text}"`, { exitCode: 2 });
}
