"""Words of names that programmers use for one another.

Written down for this project from general knowledge of English and of programming; no list of others was taken over.
"""

from collections import defaultdict

_GROUPS = """
add append insert include put
all every each
allowed valid permitted legal
answer result output res ret out solution
arr array lst list seq sequence values items elements data
average mean avg
balance total amount sum
begin start first low lo left
best top optimal max
bigger greater larger higher
biggest greatest largest highest maximum max
bit digit
bottom low lower base
bound limit border threshold cap
brackets parens parentheses
build make create construct form generate produce
calc calculate compute get find determine evaluate
cell square field spot
char character letter c ch symbol
chars characters letters symbols
check test verify validate is has
chunk block part piece segment section
clean strip trim
close near adjacent
code program source
col column c
cols columns
collection items group container
common shared mutual
compare match cmp
concat concatenate join merge combine
cond condition test predicate
convert transform change translate turn to
cost price value
count counter num number total cnt n
counts counter freq frequencies totals tally
cur current curr now this
d dict mapping table map
data values items numbers info records content
date day time
decode decrypt parse
del delete remove drop erase discard
delta diff difference gap offset distance
depth level height
desc description summary
dest destination target
different distinct unique
digits numbers
dup duplicate copy repeated
el elem element item x value entry
elems elements items values entries
encode encrypt
end stop last finish high hi right
entry item record row
err error exc exception
even paired
extract pull take pick get
factor divisor
factors divisors
file path document
filter select keep pick
final last end
find get search locate lookup seek
first initial head start
flag found done ok
flat flattened
flatten unnest
float decimal real
freq frequency count
func function f fn callback
grid board matrix table
group cluster bucket set
groups clusters buckets sets
guess estimate attempt
h height
hash digest
i idx index pos j k n
idx index pos position i place loc
idxs indices indexes positions
init initial start
input data text value arg source inp
insert add put
integer int num number n
integers ints numbers nums
interval range span
intervals ranges spans
item element entry value obj thing x
items elements entries values things objects
iter loop step
j k m i
key name k id
keys names ids
kind type category sort
label tag name
last final end previous
left lo low start first
len length size count n
length size len
letters chars characters
limit max bound cap threshold upper
line row text
lines rows
list lst items array arr elements
load read open
longest largest maximum
loss cost error
low min lower lo
lower smaller min
m k n
make build create form generate
map mapping dict table
match hit fit
matrix grid mat table
max maximum largest top highest
maximum max largest biggest
median middle
merge join combine
message msg text note
min minimum smallest lowest
minimum min smallest
mod modulo remainder
move shift step
msg message text
multiply times scale
n num number count size k
name label title key
names labels titles
nested inner
new next updated fresh
next following new succ
node vertex item
nodes vertices
num number n value count x
number num n value integer
numbers nums values integers list data
nums numbers values ints
obj object item thing
odd uneven
offset shift delta
op operation operator action
operand value number
ops operations operators actions
option choice setting
options choices settings opts config
order sort rank
ordered sorted
original initial old source
output result out ret answer
p prime q
pair couple tuple
pairs couples tuples
param parameter arg argument
params parameters args arguments
parens brackets parentheses
parse read interpret
part piece chunk section
parts pieces chunks sections
path route way file
pattern regex template
point pt position location
points pts positions
pos position index place
pow power exponent
prefix start head
prev previous last old
print show display
process handle run
product prod total
ratio rate fraction share
read load parse get
rec record entry row
rem remainder rest
remove delete drop strip discard
repeat loop
replace substitute swap
res result ret output answer
rest remaining remainder others
result res output answer ret out value
results outputs answers res
reverse invert flip
reversed flipped inverted
right hi high end
root base
rotate shift turn
round approximate
row line record entry r
rows lines records
s string text str word
save store write
scale multiply resize factor
score points mark grade
scores points marks grades
search find lookup
second other next
seen visited found known used
select choose pick filter
sentence phrase text string
separate split divide
seq sequence list
shape form
shift move offset
short small brief
shortest smallest
side edge
size length count len n
small short little low
smallest minimum min least lowest
solve answer compute
sort order arrange
sorted ordered arranged
space gap blank
split divide separate cut
sq square squared
squared sq
stack pile st
start begin first low left
state status
step stride delta
stop end finish
str string text s
string text s str word sentence
strings texts words strs
sub part inner
substring part piece sub
sum total add
swap exchange switch
t temp tmp
tail end rest
tally count
target goal wanted goal
temp tmp t buffer
term item element
terms items elements
test check case
text string s content message
threshold limit cutoff bound tolerance
time duration
times count repetitions
tmp temp buffer
token word piece
tokens words pieces
total sum count result acc
transform convert map change
triangle shape
type kind category
unique distinct
update change modify refresh
upper max high
val value v item
vals values items
value val v item number x
values vals items numbers data elements
vector array vec
visited seen
w word width
weight w mass
words tokens terms strings
word token term string w
write save dump
x a value n num v
y b other
z c
a x first left
b y second right
c z third
"""


def _synonyms() -> dict[str, tuple[str, ...]]:
    alike: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for group in _GROUPS.strip().splitlines():
        words = group.split()
        for word in words:
            alike[word] |= dict.fromkeys(other for other in words if other != word)
    return {word: tuple(others) for word, others in alike.items()}


SYNONYMS = _synonyms()
"""Word → words that may replace it."""
