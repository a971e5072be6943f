// SPDX-License-Identifier: Apache-2.0
import { builtCommand } from "../../../tools/publish/built-command.ts";
import { type Figure, figure, ratios } from "../measure/figure.ts";
import { type Contender, startEmbedded, startPair } from "./contenders.ts";
import { Http2Client } from "./http2-client.ts";
import { collections, objectOf } from "./objects.ts";

/** From starting the processes on an empty directory to the answer to the first write. */
export async function startFigures(rounds: number): Promise<Figure[]> {
  builtCommand();
  const ours: number[] = [];
  const pair: number[] = [];
  for (let round = 0; round < rounds; round++) {
    ours.push(await secondsToFirstWrite(startEmbedded));
    pair.push(await secondsToFirstWrite(startPair));
  }
  return [
    figure("start: embedded, to the first write", "s", ours),
    figure("start: kube-apiserver + etcd, to the first write", "s", pair),
    figure("start: pair ÷ embedded", "×", ratios(pair, ours), { relation: "at least", value: 10 }),
  ];
}

async function secondsToFirstWrite(start: () => Promise<Contender>): Promise<number> {
  const started = performance.now();
  await using contender = await start();
  const client = new Http2Client(contender.access);
  const body = Buffer.from(JSON.stringify(objectOf("ConfigMap", "first")));
  const { code } = await client.request("POST", collections.ConfigMap, body);
  const seconds = (performance.now() - started) / 1000;
  client.close();
  if (code !== 201) throw new Error(`the first write was answered with ${code}`);
  return seconds;
}
