// All words of the page, in both languages, and what each box explains.

const words = {
  title: ['The operator lab', 'Operator 实验室'],
  map: ['Exercises', '练习地图'],
  mapHint: ['Each is a small reconciler with a classic mistake. Edit its file, then run the command in a terminal; a failed check leaves a walk that you can replay here.', '每个练习都是一个带有经典错误的小 reconciler。修改文件，然后在终端运行命令；检查失败会留下一段过程，可以在这里回放。'],
  control: ['Run and step', '运行与单步'],
  run: ['Run', '运行'],
  pause: ['Pause', '暂停'],
  controlHint: ['While paused, each watch event, queue item, reconcile and write waits for its step.', '暂停时，每个 watch 事件、队列项、调谐和写入都等待单步。'],
  event: ['Step one event', '单步：事件'],
  item: ['Step one queue item', '单步：队列项'],
  reconcile: ['Step one reconcile', '单步：调谐'],
  write: ['Step one write', '单步：写入'],
  change: ['Change something', '做点修改'],
  terminal: ['Or in a terminal:', '或者在终端中：'],
  faults: ['Break something', '制造故障'],
  faultsHint: ['A fault on a write or on an event hits the next one. The step list says what it did.', '针对写入或事件的故障作用于下一个。步骤列表会说明发生了什么。'],
  since: ['Reconciles since the last change, and why:', '自上次修改以来的调谐次数及原因：'],
  sinceNone: ['Nothing was changed yet. Press a button above.', '还没有修改。点击上面的按钮。'],
  compare: ['Stored and cached', '已存储与已缓存'],
  compareHint: ['What the API server has, and what the indexer has: Reconcile sees only the second. @ is the resource version.', 'API server 上的内容与 indexer 中的内容：Reconcile 只看到后者。@ 后面是 resourceVersion。'],
  object: ['Object', '对象'],
  objects: ['objects', '个对象'],
  object1: ['object', '个对象'],
  stored: ['API server', 'API server'],
  cached: ['Indexer', 'indexer'],
  steps: ['Steps', '步骤'],
  back: ['◀ Back', '◀ 后退'],
  forward: ['Forward ▶', '前进 ▶'],
  live: ['To the newest', '回到最新'],
  violation: ['What was broken', '违反了什么'],
  running: ['running', '运行中'],
  paused: ['paused', '已暂停'],
  player: ['replay', '回放'],
  lost: ['The lab does not answer. Is make lab still running?', '实验室没有响应。make lab 还在运行吗？'],
  closed: ['Open the link that make lab printed, or the log of the operator: it has the token that this page lacks.', '请打开 make lab 打印的链接，或 operator 日志中的链接：此网页缺少其中的 token。'],
  step: ['step', '步骤'],
  code: ['Its code', '它的代码'],
  example: ['Our example of it', '我们的示例'],
  passed: ['passed', '已通过'],
  failed: ['not yet', '未通过'],
  open: ['open', '未开始'],
  tries: ['tries', '次'],
  try1: ['try', '次'],
  replay: ['replay the shortest failing schedule', '回放最短的失败过程'],
  waiting: ['waiting', 'waiting'],
  dirty: ['dirty', 'dirty'],
  processing: ['processing', 'processing'],
  backingOff: ['backing off', '退避中'],
  delayed: ['timer set', '定时器'],
  armed: ['armed: hits the next one', '已准备：作用于下一个'],
  on: ['on', '进行中'],
  several: ['a is the first operator, b the second leader; each has its own queue and cache.', 'a 是第一个 operator，b 是第二个 leader；它们各有自己的队列和缓存。'],
  operators: ['operators', 'operator'],
  'idle-user': ['press a button', '请按按钮'],
  'idle-reflector': ['no event yet', '还没有事件'],
  'idle-deltas': ['empty', '空'],
  'idle-handlers': ['no event yet', '还没有事件'],
  'idle-reconcile': ['not run yet', '还没有执行'],
  'idle-writes': ['nothing sent', '没有写入'],
  'idle-fault': ['none', '无'],
  nothing: ['nothing', '没有写入'],
  freeze: ['freeze the watch', '冻结 watch'],
  drop: ['drop the connection', '断开连接'],
  relist: ['answer 410: relist', '响应 410：relist'],
  hide: ['hide an event', '隐藏一个事件'],
  conflict: ['answer 409', '响应 409'],
  toomany: ['answer 429', '响应 429'],
  timeout: ['time out after doing it', '执行后超时'],
  'crash-before': ['crash before a write', '写入前崩溃'],
  'crash-during': ['crash during a write', '写入中崩溃'],
  'crash-after': ['crash after a write', '写入后崩溃'],
  second: ['second leader', '第二个 leader'],
  clock: ['turn the clock +2h', '时钟拨快 2 小时'],
};

export const languages = ['en', 'zh'];
let language = 'en';
export const current = () => language;

// speak chooses the language: that of the address, or the one chosen last, or the browser's.
export function speak(wanted) {
  const kept = wanted || new URLSearchParams(location.search).get('lang') || localStorage.getItem('lab-language') || navigator.language.slice(0, 2);
  language = languages.includes(kept) ? kept : 'en';
  localStorage.setItem('lab-language', language);
  document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
}

export const say = (id) => (words[id] || [id, id])[languages.indexOf(language)];
export const text = (t) => (t ? t[language] || t.en : '');

const client = (path, anchor) => ['k8s.io/client-go', path, anchor];
const runtime = (path, anchor) => ['sigs.k8s.io/controller-runtime', path, anchor];

// boxes: name, two sentences, the code that it is, and our example.
export const boxes = {
  user: { name: ['You', '用户'], about: ['A person with kubectl, a button of this page, or another controller writes an object. The operator is not told who, only that the object changed.', '用 kubectl 的人、本页的按钮或其他控制器写入对象。operator 不知道是谁，只知道对象变了。'], code: client('kubernetes', 'Clientset'), example: 'examples/clientset' },
  api: { name: ['API server', 'API server'], about: ['It stores each object with a resource version and sends every change to those who watch. All writes of all programs meet here, and a write with an old version is refused with 409.', '它存储每个对象及其 resourceVersion，并把每次变化发给所有 watch 者。所有程序的写入都在这里汇合，旧版本的写入会被 409 拒绝。'], code: client('rest', 'RESTClient'), example: 'examples/restclient' },
  reflector: { name: ['Reflector', 'Reflector'], about: ['It lists all objects of a kind once and then watches from that version on. When the connection breaks it continues from the last version; when that is too old it lists again.', '它先列出某类对象，再从该版本开始 watch。连接断开时从最后的版本继续；版本太旧时重新列出。'], code: client('tools/cache', 'Reflector'), example: 'examples/reflector' },
  deltas: { name: ['Queue of deltas', 'Delta 队列'], about: ['Each event becomes a delta: Added, Updated, Deleted, Replaced or Sync. The informer takes them out one by one, so that the indexer and the handlers see the same order.', '每个事件变成一个 delta：Added、Updated、Deleted、Replaced 或 Sync。informer 逐个取出，indexer 和 handler 看到的顺序相同。'], code: client('tools/cache', 'DeltaFIFO'), example: 'examples/deltafifo' },
  indexer: { name: ['Indexer', 'Indexer'], about: ['The cache: Reconcile reads from here and not from the API server. It is always a little behind, so a reconcile may not see what the last one wrote.', '缓存：Reconcile 从这里读取，而不是从 API server。它总会稍微落后，所以一次调谐可能看不到上一次写入的内容。'], code: client('tools/cache', 'Indexer'), example: 'examples/indexer' },
  handlers: { name: ['Handlers, predicates', 'Handler 与 predicate'], about: ['Predicates drop events that do not matter; the handler turns the others into keys: the object itself (For) or its owner (Owns). What an event said is lost here, only the key goes on.', 'predicate 丢弃无关的事件；handler 把其余事件变成 key：对象自身（For）或其 owner（Owns）。事件内容到此为止，只有 key 继续。'], code: runtime('pkg/handler', 'EnqueueRequestForObject'), example: 'examples/predicates' },
  queue: { name: ['Work queue', '工作队列'], about: ['A key waits once, however often it is added; added while it is processed it becomes dirty and runs again afterwards. After an error the key backs off, longer each time.', '无论加入多少次，一个 key 只等待一次；处理中再加入就变成 dirty，结束后再执行。出错后 key 会退避，时间逐次加长。'], code: runtime('pkg/controller/priorityqueue', 'PriorityQueue'), example: 'examples/workqueue' },
  reconcile: { name: ['Reconcile', 'Reconcile'], about: ['It gets a name, reads what is there, compares it with what is wanted and writes the difference. It must not matter how often it runs, or why.', '它只拿到名称，读取现状，与期望比较，写入差异。它执行多少次、因为什么执行，都不应影响结果。'], code: runtime('pkg/reconcile', 'Reconciler'), example: 'examples/controller' },
  writes: { name: ['Writes', '写入'], about: ['Each write goes to the API server, and its event comes back through all boxes: an operator wakes itself. An answer can be lost although the write was done.', '每次写入都发到 API server，其事件又经过所有方框回来：operator 会唤醒自己。写入可能已完成，而响应丢失。'], code: runtime('pkg/client', 'Client'), example: 'examples/apply' },
  fault: { name: ['Faults', '故障'], about: ['What a fault button did. A production-grade operator ends up right after each of them.', '故障按钮做了什么。生产可用的 operator 在每种故障之后都能恢复正确。'], code: runtime('pkg/manager', 'Manager'), example: 'examples/leader-election' },
};

export const nameOf = (box) => boxes[box].name[languages.indexOf(language)];
export const aboutOf = (box) => boxes[box].about[languages.indexOf(language)];

// codeOf is the page of the code that a box is, in the version that this program is built with.
export function codeOf(box, versions = {}) {
  const [module, path, anchor] = boxes[box].code;
  const version = versions[module] ? `@${versions[module]}` : '';
  return { href: `https://pkg.go.dev/${module}${version}/${path}#${anchor}`, name: `${module}${version}/${path}.${anchor}` };
}
