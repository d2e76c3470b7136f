// A client and a worker in another language, from the .proto files alone: nothing here was written with Windlass in
// mind but the .proto. Starts a run, works it, reads it back; says what it saw as one line of JSON.
//
//   node client.js <address> <folder of the .proto files>      the tokens come as JSON on the standard input
'use strict';

const { createHash, randomInt } = require('node:crypto');
const { readFileSync } = require('node:fs');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const [address, folder] = process.argv.slice(2);
const tokens = JSON.parse(readFileSync(0, 'utf8'));
const files = ['workflow', 'worker', 'admin'].map((name) => `windlass/v1/${name}.proto`);
const options = { keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true, includeDirs: [folder] };
const { windlass } = grpc.loadPackageDefinition(loader.loadSync(files, options));

const LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const newId = (prefix) => prefix + '0' + Array.from({ length: 25 }, () => LETTERS[randomInt(32)]).join('');
const hashOf = (text) => createHash('sha256').update(text).digest().subarray(0, 16);
const MILLISECOND = 1000, SECOND = 1000 * MILLISECOND;

// Promises around one service; each call has a deadline of its own.
function stub(Service, token) {
  const client = new Service(address, grpc.credentials.createInsecure());
  const metadata = new grpc.Metadata();
  if (token) metadata.set('authorization', `Bearer ${token}`);
  const call = (method, request) => new Promise((resolve, reject) => {
    const deadline = Date.now() + 20_000;
    client[method](request, metadata, { deadline }, (error, answer) => (error ? reject(error) : resolve(answer)));
  });
  return { call, close: () => client.close() };
}

const { WorkflowService, WorkerService, ErrorDetail, AdminService } = windlass.v1;
const runs = stub(WorkflowService, tokens.client);
const work = stub(WorkerService, tokens.worker);
const stranger = stub(AdminService, null);
const served = [{ queue: 'default', name: 'order', version: '' }];
const worker = newId('wrk_');
const seen = { polls: 0, entered: [], settled: [], renewed: 0, lost: [] };
const SHORT = 2 * SECOND, LONG = 60 * SECOND; // how long a claim lasts: how long this worker may be silent
let pollId = 0;

const pollRequest = (options) => {
  pollId += 1;
  return { worker, poll_id: pollId, served, limit: 1, visibility_for: SHORT, wait_for: 5 * SECOND, ...options };
};

async function poll() {
  seen.polls += 1;
  const request = pollRequest({});
  const first = await work.call('Poll', request);
  if (first.runs.length === 0) return null;
  // As after a lost answer: the same number again is the same claim.
  const again = await work.call('Poll', request);
  seen.repeated_poll_is_the_same = again.runs[0].token === first.runs[0].token;
  return first.runs[0];
}

// Write down one of something; throws what it was refused with.
async function write(method, field, item) {
  const { at, refused } = await work.call(method, { [field]: [item] });
  if (refused.length) throw new Error(refused[0].error.code);
  return at[0];
}

const after = (span) => new Promise((resolve) => setTimeout(resolve, span / MILLISECOND));

// Renew the claim whenever half of it has passed, for as long as the body is at work.
async function keepingClaim(run, body) {
  let timer;
  const renew = async () => {
    const renewal = { id: run.run_id, token: run.token, visibility_for: LONG };
    const { lost_runs } = await work.call('RenewClaims', { runs: [renewal] });
    seen.renewed += 1;
    seen.lost.push(...lost_runs);
    timer = setTimeout(renew, LONG / 2 / MILLISECOND);
  };
  timer = setTimeout(renew, SHORT / 2 / MILLISECOND);
  try {
    return await body();
  } finally {
    clearTimeout(timer);
  }
}

// A body that is at work for longer than the claim lasted under which it was entered.
async function charge(amount) {
  await after(SHORT + 100 * MILLISECOND);
  const { runs: taken } = await work.call('Poll', pollRequest({ wait_for: 0 }));
  seen.taken_meanwhile = taken.length;
  return amount + 1;
}

const latest = (run, key) => run.history.find((record) => record.key === key);
const isOver = (record) => record !== undefined && record.order > 0;

// The workflow itself, entered from the top with each claim: true when it has come to its end.
async function execute(run) {
  const claim = { run_id: run.run_id, token: run.token };
  const [amount] = JSON.parse(run.input.toString());

  let charged = latest(run, 'charge');
  if (!isOver(charged)) {
    const attempt = (charged?.attempt ?? 0) + 1, failures = charged?.failures ?? 0;
    const step = { key: 'charge', kind: 'STEP_KIND_STEP', attempt, failures, input_hash: hashOf('charge') };
    await write('BeginSteps', 'steps', { ...claim, ...step });
    seen.entered.push(`charge ${attempt}`);
    if (attempt === 1) {
      const failure = { kind: 'FAILURE_KIND_TRANSIENT', type: 'CardReaderBusy', message: 'try again' };
      const retry = { max_attempts: 3, initial_for: 10 * MILLISECOND, factor: 1, max_for: SECOND };
      const { is_parked } = await work.call('FailStep', { ...claim, step: { ...step, failure, retry, order: 1 } });
      seen.parked_after_failure = is_parked;
      return false;
    }
    const output = Buffer.from(JSON.stringify(await keepingClaim(run, () => charge(amount))));
    await write('CompleteSteps', 'steps', { ...claim, ...step, order: 1, output });
    charged = { output };
  }

  const slept = latest(run, 'nap');
  if (slept === undefined) {
    const nap = { key: 'nap', input_hash: hashOf('nap'), sleep_for: 20 * MILLISECOND };
    seen.parked_to_sleep = (await work.call('Sleep', { ...claim, ...nap })).is_parked;
    return false;
  }
  if (!isOver(slept)) {
    const step = { key: 'nap', kind: 'STEP_KIND_SLEEP', attempt: slept.attempt, input_hash: hashOf('nap') };
    await write('CompleteSteps', 'steps', { ...claim, ...step, order: 2, output: Buffer.from('null') });
  }

  const key = 'paid', waited = latest(run, key);
  if (waited === undefined) {
    const step = { key, kind: 'STEP_KIND_EVENT', input_hash: hashOf(key), awaits: 'payment' };
    const { is_parked } = await work.call('Wait', { ...claim, step, order: 3 });
    seen.parked_to_wait = is_parked;
    await runs.call('SendEvent', {
      run_id: run.run_id, event: 'payment', id: 'payment-1', payload: Buffer.from('{"sum": 42}'),
    });
    return false;
  }
  const { settled } = await work.call('Suspend', { ...claim, open: [{ key, order: 3 }], park: true });
  seen.settled = settled.map((item) => item.key);

  const result = { charged: JSON.parse(charged.output.toString()), paid: JSON.parse(settled[0].output.toString()) };
  const end = { ...claim, status: 'RUN_STATUS_COMPLETED', output: Buffer.from(JSON.stringify(result)) };
  await write('FinishRuns', 'runs', end);
  await write('FinishRuns', 'runs', end); // as after a lost answer
  return true;
}

// How a call is refused: its status, and what stands in our trailer.
async function refusal(promise) {
  try {
    await promise;
  } catch (error) {
    const [data] = error.metadata.get('windlass-error-bin');
    const { code, request_id } = ErrorDetail.deserialize(data);
    return { status: grpc.status[error.code], code, has_request_id: request_id.length > 0 };
  }
  return null;
}

async function main() {
  const run_id = newId('run_');
  const run = { run_id, name: 'order', queue: 'default', input: Buffer.from('[41]'), key: 'from-node' };
  seen.unknown = await refusal(runs.call('StartRun', { run: { ...run, name: 'odrer' } }));
  await work.call('Register', { id: worker, host: 'node', pid: process.pid, served, slots: 1 });
  const started = await runs.call('StartRun', { run });
  const after_lost_answer = await runs.call('StartRun', { run });
  const same_key = await runs.call('StartRun', { run: { ...run, run_id: newId('run_') } });
  seen.started = [started, after_lost_answer, same_key].map((one) => one.run_id === run_id);
  seen.same_key_is_repeat = same_key.is_repeat;

  for (let isDone = false; !isDone;) {
    const claimed = await poll();
    if (claimed === null) throw new Error('nothing to do');
    isDone = await execute(claimed);
    const { accepted } = await work.call('Heartbeat', { id: worker, active: 0, completed: Number(isDone) });
    seen.accepted = accepted;
    if (isDone) {
      const late = { run_id, token: claimed.token - 1, output: Buffer.from('"stolen"') };
      seen.stale = await refusal(work.call('CompleteRun', late));
    }
  }
  await work.call('Deregister', { id: worker });

  const { status, output } = await runs.call('WaitForResult', { run_id, wait_for: SECOND });
  seen.result = { status, output: JSON.parse(output.toString()) };
  const { steps } = await runs.call('ListSteps', { run_id });
  seen.steps = steps.map((step) => [step.key, step.attempt, step.kind, step.status]);
  const { entries } = await runs.call('ReadLog', { run_id });
  seen.log = entries.map((entry) => entry.to_status);
  seen.found = (await runs.call('FindRun', { key: 'from-node' })).run.id === run_id;
  seen.without_key = await refusal(stranger.call('GetServerInfo', {}));
  seen.worker_as_client = await refusal(stub(WorkflowService, tokens.worker).call('GetRun', { run_id }));
  console.log(JSON.stringify(seen));
  [runs, work, stranger].forEach((one) => one.close());
}

main().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
