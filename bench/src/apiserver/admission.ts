// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { createAuthority, issueCertificate } from "@purlin/certificates";
import { type Figure, figure, ratios, ratiosOfSums } from "../measure/figure.ts";
import { type Side, withBoth } from "./both.ts";
import type { CreateEffort } from "./creates.ts";
import { Http2Client } from "./http2-client.ts";
import { collectionIn, objectOf } from "./objects.ts";
import { Rounds } from "./rounds.ts";

const clients = 16;
const webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/** What stands between a create and the store, by the namespace in which it does. Nothing is switched on or off between rounds. */
const guards = { none: "plain", "a validating webhook": "hooked", "a quota": "limited" } as const;

/** The processor time and the time that a webhook and a quota add to a create, on both servers in turn. */
export async function admissionFigures(effort: CreateEffort): Promise<Figure[]> {
  await using webhook = await startWebhook();
  return await withBoth(async (both) => {
    const sides = Object.entries(both) as [string, Side][];
    for (const [, side] of sides) await prepare(side, webhook);
    const rounds = new Rounds(
      sides.flatMap(([name, { contender, load }]) =>
        Object.entries(guards).map(([what, namespace]) => ({
          name: `${name} ${what}`,
          pids: contender.pids,
          run: (prefix: string, count: number) =>
            load.do({ job: "create", kind: "ConfigMap", prefix, count, clients, namespace }),
        })),
      ),
    );
    await rounds.measure(effort);
    return Object.keys(guards)
      .filter((what) => what !== "none")
      .flatMap((what) => figuresOf(what, rounds));
  });
}

function figuresOf(what: string, rounds: Rounds): Figure[] {
  const added = (of: "cost" | "seconds", name: string): number[] => {
    const plain = rounds.of(of, `${name} none`);
    return rounds.of(of, `${name} ${what}`).map((value, round) => value - (plain[round] ?? 0));
  };
  const slowed = (name: string): number[] =>
    ratios(rounds.of("seconds", `${name} none`), rounds.of("seconds", `${name} ${what}`));
  const [ours, pair] = [added("cost", "ours"), added("cost", "pair")];
  const most = { relation: "at most", value: 1 } as const;
  return [
    figure(`admission: ${what}, processor time added to a create, embedded`, "µs", ours),
    figure(`admission: ${what}, processor time added to a create, kube-apiserver + etcd`, "µs", pair),
    figure(`admission: ${what}, added processor time, embedded ÷ pair`, "×", ratiosOfSums(ours, pair), most),
    figure(
      `admission: ${what}, added time, embedded ÷ pair`,
      "×",
      ratiosOfSums(added("seconds", "ours"), added("seconds", "pair")),
    ),
    figure(`admission: ${what}, creates/s by those without, embedded`, "×", slowed("ours")),
    figure(`admission: ${what}, creates/s by those without, kube-apiserver + etcd`, "×", slowed("pair")),
  ];
}

interface Webhook extends AsyncDisposable {
  readonly clientConfig: object;
  /** How many reviews it has answered. */
  readonly calls: () => number;
}

/** A webhook that allows everything. */
async function startWebhook(): Promise<Webhook> {
  const authority = createAuthority({ commonName: "bench" });
  const pair = issueCertificate(authority, { commonName: "hook", ipAddresses: ["127.0.0.1"], usages: ["server"] });
  let calls = 0;
  // Connections stay open while the other server has its turn.
  const server = createServer(
    { key: pair.keyPem, cert: pair.certPem, keepAliveTimeout: 600_000 },
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        calls += 1;
        const text = Buffer.concat(chunks).toString();
        const uid = /"uid":"([^"]+)"/.exec(text)?.[1] ?? "";
        const answer = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid, allowed: true } };
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(answer));
      });
    },
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const caBundle = Buffer.from(authority.certPem).toString("base64");
  return {
    clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle },
    calls: () => calls,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Makes the namespaces, and puts each guard into effect in its own. */
async function prepare({ contender }: Side, webhook: Webhook): Promise<void> {
  const client = new Http2Client(contender.access);
  for (const name of Object.values(guards)) await send(client, "POST", "/api/v1/namespaces", { metadata: { name } });
  await enableWebhook(client, webhook);
  await enableQuota(client);
  client.close();
}

async function enableWebhook(client: Http2Client, webhook: Webhook): Promise<void> {
  const namespace = guards["a validating webhook"];
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
  await send(client, "POST", webhooks, {
    metadata: { name: "bench" },
    webhooks: [
      {
        ...{ name: "bench.example.org", clientConfig: webhook.clientConfig, rules: [rule], namespaceSelector },
        ...{ sideEffects: "None", admissionReviewVersions: ["v1"] },
      },
    ],
  });
  const before = webhook.calls();
  while (webhook.calls() === before) {
    await send(
      client,
      "POST",
      `${collectionIn("ConfigMap", namespace)}?dryRun=All`,
      objectOf("ConfigMap", "p", namespace),
    );
    await delay(50);
  }
}

/** No controller runs beside kube-apiserver, so the status that admission reads is written here. */
async function enableQuota(client: Http2Client): Promise<void> {
  const namespace = guards["a quota"];
  const quotas = `/api/v1/namespaces/${namespace}/resourcequotas`;
  const create = async (name: string, hard: object, used: object): Promise<void> => {
    await send(client, "POST", quotas, { metadata: { name }, spec: { hard } });
    await send(client, "PUT", `${quotas}/${name}/status`, { metadata: { name }, status: { hard, used } });
  };
  await create("bench", { "count/configmaps": "1000000" }, { "count/configmaps": "1" });
  // The quota counts once one beside it refuses an object of which there may be none.
  await create("probe", { "count/secrets": "0" }, { "count/secrets": "0" });
  const secret = Buffer.from(JSON.stringify({ metadata: { name: "probe" } }));
  const path = `/api/v1/namespaces/${namespace}/secrets?dryRun=All`;
  while ((await client.request("POST", path, secret)).code !== 403) await delay(50);
  await send(client, "DELETE", `${quotas}/probe`);
}

async function send(client: Http2Client, method: string, path: string, object?: object): Promise<void> {
  const body = object === undefined ? undefined : Buffer.from(JSON.stringify(object));
  const { code } = await client.request(method, path, body);
  if (code >= 300) throw new Error(`${method} ${path}: ${code}`);
}
