// SPDX-License-Identifier: Apache-2.0
import { type RunFunctionRequest, type RunFunctionResponse, response } from "@purlin/function-sdk";

export default (req: RunFunctionRequest): RunFunctionResponse => response.to(req);
