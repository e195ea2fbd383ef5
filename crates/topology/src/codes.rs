//! The codes SW110 to SW199 and SW300 to SW319, SW601, SW602, SW704: what can be wrong with what users write.

shardwright_diagnostics::codes! {
    NO_PROJECT_FILE = "SW110": "the directory holds no project file";
    NO_TOPOLOGY = "SW111": "the project holds no topology";
    UNKNOWN_KEY = "SW112": "a key that the language does not have";
    WRONG_TYPE = "SW113": "a value of another type than expected";
    MISSING_KEY = "SW114": "a key is missing";
    UNKNOWN_WORD = "SW115": "a word that is not one of those expected";
    BAD_VALUE = "SW116": "a value that is not allowed here";
    DEFINED_TWICE = "SW117": "the same thing is defined in two places";
    BAD_NAME = "SW118": "a name holds other characters than letters, digits, `_` and `-`";
    TWO_INSTANCES = "SW119": "two objects have one name";
    BAD_TEMPLATE = "SW120": "a `$( … )` cannot be read";
    UNKNOWN_VARIABLE = "SW121": "a `$( … )` uses a variable that does not exist";
    BAD_ARITHMETIC = "SW122": "a `$( … )` cannot be computed";
    TOO_MANY_INSTANCES = "SW123": "generators make too many objects";
    BAD_GENERATOR = "SW124": "a `for_each` cannot be read or makes nothing";
    UNKNOWN_REFERENCE = "SW125": "a reference to something that does not exist";
    YAML_1_1 = "SW126": "an unquoted word that other YAML tools read differently";
    LITERAL_SECRET = "SW127": "a secret is written in the clear";
    VARIABLE_VALUE = "SW128": "a variable has no value, or a value is given for none";
    NOT_TOGETHER = "SW129": "keys that do not go together";
    MATCHES_NOTHING = "SW131": "a pattern of names matches nothing";
    BAD_DATA = "SW140": "a data file cannot be used";
    UNKNOWN_ENVIRONMENT = "SW150": "an environment that the project does not have";
    PATCH_MISSES = "SW151": "a patch that hits nothing";
    IDLE_PATCH = "SW152": "a patch that changes nothing";
    PATCHES_COLLIDE = "SW153": "two patches of one address";
    BAD_ADDRESS = "SW154": "an address that cannot be patched";
    KEY_OVERLAP = "SW301": "two shards have the same key";
    KEY_GAP = "SW302": "keys without a shard";
    NO_KEYS = "SW303": "a shard without keys";
    IDLE_OVERRIDE = "SW304": "an override that changes nothing";
    OTHERWISE_CYCLE = "SW305": "shard maps lead to each other in a circle";
    OUTSIDE_DOMAIN = "SW306": "a key outside the domain";
    NOT_PLACED = "SW307": "a shard without a place";
    THROTTLE_ENDED = "SW314": "a throttle that has expired";
    NOBODY_READS = "SW315": "a cluster in which nobody answers reads";
    STATE_EXPIRED = "SW316": "a server whose state has expired";
    BAD_MOVE = "SW317": "a move that cannot be made";
    KEPT_VARIABLE = "SW318": "an engine variable that belongs to another part of the project";
    NO_SUCH_VARIABLE = "SW319": "a variable that the engine does not have";
    OF_OTHERS = "SW340": "the project writes what `manage` leaves to others";
    NO_HYSTERESIS = "SW601": "a throttle that starts and stops at one value";
    TOO_MANY_CONNECTIONS = "SW704": "proxies may open more connections than a server takes";
    STARVES_SIGNAL = "SW602": "a throttle that keeps its own signal from recovering";
}
