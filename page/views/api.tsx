import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useCell } from '../core/cell.ts';
import { to, useQuery } from '../core/route.ts';
import { askRaw, session, socketUrl } from '../core/session.ts';
import { clockTime } from '../core/words.ts';
import { Asks, Badge, Empty, Json, Panel, Pill, useAsked } from '../parts/bits.tsx';

/** The API explorer, made from the OpenAPI description. It acts as the logged-in user. */

type Schema = {
  type?: string;
  $ref?: string;
  items?: Schema;
  enum?: unknown[];
  default?: unknown;
  description?: string;
  properties?: Record<string, Schema>;
};
type Parameter = { name: string; in: string; required?: boolean; description?: string; schema?: Schema };
type Operation = {
  summary?: string;
  description?: string;
  tags?: string[];
  operationId?: string;
  parameters?: Parameter[];
  requestBody?: { content?: Record<string, { schema?: Schema }> };
  responses?: Record<string, { description?: string }>;
};
type Document = { servers?: { url: string }[]; paths: Record<string, Record<string, Operation>> };
type Entry = { key: string; base: string; method: string; path: string; operation: Operation; tag: string };

const methods = ['get', 'post', 'put', 'delete'];

const entriesOf = (base: string, document: Document | undefined): Entry[] =>
  Object.entries(document?.paths ?? {}).flatMap(([path, here]) =>
    methods.flatMap((method) => {
      const operation = here[method];
      if (!operation) return [];
      return [
        {
          key: `${method.toUpperCase()} ${base}${path}`,
          base,
          method: method.toUpperCase(),
          path,
          operation,
          tag: operation.tags?.[0] ?? '',
        },
      ];
    }),
  );

export function Api({ chosen }: { chosen: string | undefined }) {
  const { value: ari } = useAsked<Document>('/ari/openapi.json');
  const { value: own } = useAsked<Document>('/hookswitch/openapi.json');
  const [words, setWords] = useQuery('find');
  const all = useMemo(() => [...entriesOf('/ari', ari), ...entriesOf('/hookswitch', own)], [ari, own]);
  const wanted = words.trim().toLowerCase();
  const found = all.filter(({ key, operation }) => `${key} ${operation.summary ?? ''}`.toLowerCase().includes(wanted));
  const tags = [...new Set(found.map(({ base, tag }) => `${base} ${tag}`))];
  const entry = all.find(({ key }) => key === chosen);
  return (
    <>
      <h1>API</h1>
      <p class="lead">
        Every operation, with your rights. The API descriptions: <a href="/ari">/ari</a>, <code>/ari/openapi.json</code>
        , <code>/hookswitch/openapi.json</code>.
      </p>
      <div class="columns api">
        <Panel title="Operations" class="operations-list" extra={<a href={to('api', 'events')}>Events</a>}>
          <input
            type="search"
            class="search"
            placeholder="Find an operation"
            aria-label="Find an operation"
            value={words}
            onInput={(event) => setWords(event.currentTarget.value)}
          />
          <div class="scroll tall">
            {tags.map((tag) => (
              <details key={tag} open={wanted !== '' || (entry !== undefined && `${entry.base} ${entry.tag}` === tag)}>
                <summary>{tag}</summary>
                <ul class="items">
                  {found
                    .filter(({ base, tag: own }) => `${base} ${own}` === tag)
                    .map(({ key, method, path, operation }) => (
                      <li key={key}>
                        <a
                          class="item"
                          href={`${to('api', key)}${words === '' ? '' : `?find=${encodeURIComponent(words)}`}`}
                          aria-current={key === chosen ? 'true' : undefined}
                          title={operation.summary}
                        >
                          <span class={`method ${method}`}>{method}</span> <span class="path">{path}</span>
                        </a>
                      </li>
                    ))}
                </ul>
              </details>
            ))}
          </div>
        </Panel>
        <div>{entry ? <Try entry={entry} key={entry.key} /> : <Events />}</div>
      </div>
    </>
  );
}

type Answer = { status: number; words: string; ms: number; text: string; headers: [string, string][] };

/** JSON that people can read; any other text as it is. */
const pretty = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

function Try({ entry }: { entry: Entry }) {
  const who = useCell(session);
  const { operation, method, path, base } = entry;
  const parameters = operation.parameters ?? [];
  const hasBody = operation.requestBody !== undefined;
  const [values, setValues] = useState<Record<string, string>>({});
  const [body, setBody] = useState('');
  const [answer, setAnswer] = useState<Answer>();
  const [problem, setProblem] = useState<string>();
  const filled = path.replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
    values[name] ? encodeURIComponent(values[name]) : whole,
  );
  const query = new URLSearchParams(
    parameters.filter((each) => each.in === 'query' && values[each.name]).map(({ name }) => [name, values[name] ?? '']),
  ).toString();
  const target = `${base}${filled}${query === '' ? '' : `?${query}`}`;
  const looksOnly = who?.read_only === true && method !== 'GET';
  /** A DELETE that waits for a yes. */
  const [asked, setAsked] = useState(false);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (method === 'DELETE') setAsked(true);
    else void send();
  };
  const send = async (): Promise<void> => {
    setAsked(false);
    setProblem(undefined);
    const begun = performance.now();
    try {
      const got = await askRaw(method, target, body.trim() === '' ? undefined : JSON.parse(body));
      const type = got.headers.get('content-type') ?? '';
      const text = /json|text|svg|xml/.test(type)
        ? await got.text()
        : `(${(await got.blob()).size} bytes of ${type || 'nothing'})`;
      setAnswer({
        status: got.status,
        words: got.statusText,
        ms: performance.now() - begun,
        text: pretty(text),
        headers: [...got.headers],
      });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <Panel title={operation.summary ?? entry.key}>
      <p class="target">
        <span class={`method ${method}`}>{method}</span> <code>{target}</code>
      </p>
      {operation.description ? <p class="quiet">{operation.description}</p> : null}
      <form class="try" onSubmit={submit}>
        {parameters.map(({ name, required, description, schema }) => (
          <label key={name}>
            <span>
              <code>{name}</code> {required ? <em>required</em> : null}
            </span>
            <input
              required={required}
              value={values[name] ?? ''}
              placeholder={
                schema?.default === undefined
                  ? (schema?.enum?.join(', ') ?? schema?.type ?? '')
                  : String(schema.default)
              }
              onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
            />
            <small>{description}</small>
          </label>
        ))}
        {hasBody ? (
          <label>
            <span>
              <code>body</code> JSON
            </span>
            <textarea rows={5} value={body} onInput={(event) => setBody(event.currentTarget.value)} />
          </label>
        ) : null}
        <div class="row">
          {looksOnly ? (
            <span class="quiet">{who?.user} is read-only.</span>
          ) : (
            <button type="submit" class="primary">
              Send
            </button>
          )}
          {answer ? (
            <>
              <Pill state={`${answer.status}`} tone={answer.status < 400 ? 'good' : 'bad'} />
              <span class="quiet">{answer.ms.toFixed(1)} ms</span>
            </>
          ) : null}
        </div>
        {asked ? (
          <Asks label="Send DELETE: are you sure?" verb="Send" onYes={() => void send()} onNo={() => setAsked(false)}>
            DELETE {target} ends or removes something. This cannot be undone.
          </Asks>
        ) : null}
      </form>
      {problem ? <p class="told bad">{problem}</p> : null}
      {answer ? <pre class="json">{answer.text || '(no body)'}</pre> : null}
      <details>
        <summary>Possible answers</summary>
        <dl class="pairs">
          {Object.entries(operation.responses ?? {}).map(([status, { description }]) => (
            <div key={status}>
              <dt>{status}</dt>
              <dd>{description}</dd>
            </div>
          ))}
        </dl>
      </details>
    </Panel>
  );
}

type AsyncDocument = {
  components: { messages: Record<string, { summary?: string; description?: string; payload?: unknown }> };
};

/** Events that came, by type: the last one of each. */
type Heard = { at: number; count: number; event: unknown };

function Events() {
  const { value: document } = useAsked<AsyncDocument>('/ari/asyncapi.json');
  const [listening, setListening] = useState(false);
  const [heard, setHeard] = useState<Record<string, Heard>>({});
  const [chosen, setChosen] = useState<string>();
  const pending = useRef<Record<string, Heard>>({});
  useEffect(() => {
    if (!listening) return undefined;
    let socket: WebSocket | undefined;
    let over = false;
    const name = `page-${Math.trunc(performance.timeOrigin).toString(36)}`;
    void socketUrl(`/ari/events?app=${name}&subscribeAll=true`).then((url) => {
      if (over) return;
      socket = new WebSocket(url, 'ari');
      socket.onmessage = ({ data }) => {
        const event = JSON.parse(String(data)) as { type: string };
        const before = pending.current[event.type];
        pending.current = {
          ...pending.current,
          [event.type]: { at: Date.now(), count: (before?.count ?? 0) + 1, event },
        };
      };
      socket.onclose = () => setListening(false);
    });
    const timer = setInterval(() => setHeard(pending.current), 250);
    return () => {
      over = true;
      clearInterval(timer);
      socket?.close();
    };
  }, [listening]);
  const types = Object.keys(document?.components.messages ?? {}).sort();
  const message = chosen === undefined ? undefined : document?.components.messages[chosen];
  return (
    <Panel
      title="Events"
      extra={
        <button type="button" class="small" aria-pressed={listening} onClick={() => setListening(!listening)}>
          {listening ? 'Stop listening' : 'Listen to all events'}
        </button>
      }
    >
      <p class="quiet">
        Every type of event, with the latest one that this page received. To try an operation, choose it from the list.
      </p>
      <div class="type-list">
        {types.map((type) => (
          <button
            type="button"
            class="chip"
            key={type}
            aria-pressed={type === chosen}
            aria-label={type}
            aria-describedby={`heard-${type}`}
            onClick={() => setChosen(type)}
          >
            {type}
            <Badge id={`heard-${type}`} count={heard[type]?.count ?? 0} what="heard" tone="good" />
          </button>
        ))}
      </div>
      {chosen ? (
        <>
          <h3>{chosen}</h3>
          <p>{message?.summary ?? message?.description}</p>
          {heard[chosen] ? (
            <>
              <h4>At {clockTime(heard[chosen].at)}</h4>
              <Json value={heard[chosen].event} />
            </>
          ) : (
            <Empty>{listening ? 'No events yet.' : 'Listen to see events.'}</Empty>
          )}
        </>
      ) : null}
    </Panel>
  );
}
