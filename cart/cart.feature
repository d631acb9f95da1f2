Feature: The coffee cart's tool server
  An assistant orders at a coffee cart for a customer, over the Model Context Protocol.

  Scenario: A client discovers what the server speaks
    When a client sends server/discover
    Then it learns the one version, the capabilities, how to use the cart and how long to keep the answer

  Scenario: A request in another version is refused with the versions the server speaks
    When a client sends a request in version 1900-01-01
    Then it gets error -32022 with the supported versions and the one it asked for

  Scenario: A request without its version or its capabilities is refused
    When a client sends a request whose _meta lacks one of the two
    Then it gets error -32602 and no tool has run

  Scenario: A legacy handshake is refused by name
    When a client sends initialize
    Then it gets an error that names the handshake and the versions the server speaks

  Scenario: The agent starts an order and adds a drink
    Given a customer with an open order
    When the agent adds a large latte
    Then the order has one line at the menu's price and a total

  Scenario: An item is found however it is spelled
    When the agent adds " Drip  COFFEE " to an open order
    Then the line has the menu's own spelling

  Scenario: A missing size asks the customer, and the retry completes the call
    Given a client that can put a form before the customer
    When the agent adds a latte without a size
    Then the client is asked for the size, and the order stays as it was
    When the client repeats the request with the answer
    Then the drink is on the order in that size

  Scenario: A client that can't ask the customer reads a reason instead
    Given a client that did not declare elicitation, or only by URL
    When the agent adds a latte without a size
    Then the agent reads which sizes there are and that it must call again

  Scenario: A customer who declines to choose gets nothing
    When the answer to the question for a size is decline or cancel
    Then the agent reads that nothing was added

  Scenario: An answer that is no size is asked again
    When the answer to the question for a size is none of the choices
    Then the client is asked again

  Scenario: A line is removed by its number
    Given an order with three lines
    When the agent removes line 2
    Then lines 1 and 3 are left with their total
    And removing line 3 is an execution error that says how many there are

  Scenario: An order can be looked at and stays as it is
    When the agent calls get_order
    Then it reads lines, total and status

  Scenario: A placed order gets the next number
    Given two customers with an order each
    When both are placed
    Then their numbers are 1 and 2

  Scenario: The same idempotency key places one order
    When place_order is sent three times with one key, in _meta or as an argument
    Then all three get the same answer and one order is placed

  Scenario: An idempotency key of another order or another caller places nothing by mistake
    Given a key that has placed an order
    When it is sent with another order, the agent reads that it was used
    And the same key of another caller is a key of its own

  Scenario: An empty order can't be placed
    When place_order is called on an order without lines
    Then the agent reads that it must add something first

  Scenario: A placed order can't be changed
    When a placed order is added to, removed from, placed anew or cancelled
    Then the agent reads its number and that nothing was done

  Scenario: A cancelled order takes nothing more
    When an order is cancelled, twice
    Then both get the same answer, and adding to it is an execution error

  Scenario: An expired order handle is an execution error
    Given an order that was started 30 minutes ago
    Then it still takes items, and one millisecond later it does not

  Scenario: A placed order outlives its expiry
    Given a placed order
    When a day has gone by
    Then get_order and a repeated place_order still answer

  Scenario: An order handle opens nothing for another caller
    When another caller uses the handle with any tool
    Then each reads that there is no such order

  Scenario: A handle can't borrow the end of another caller's name
    Given an order of the caller "a" with the handle "b:c"
    When the caller "a:b" uses the handle "c"
    Then there is no such order

  Scenario: A sold-out item is an execution error the model can act on
    When the agent adds a cardamom bun
    Then it reads that it is sold out and what is available

  Scenario: An item that isn't on the menu is an execution error the model can act on
    When the agent adds a flat white
    Then it reads that the menu has none and what is available

  Scenario: An unknown tool is a protocol error
    When the agent calls refund_order
    Then it gets error -32602

  Scenario: Arguments that break the schema are a protocol error
    When a call lacks an argument, has one too many or one of the wrong kind
    Then it gets error -32602 that names the argument, and no tool has run

  Scenario: The menu is a resource the application reads
    When a client reads menu://today
    Then it gets every item with its price and whether it is sold out

  Scenario: Hours and allergens are resources too
    When a client reads hours://week and allergens://menu
    Then it gets seven days, and the allergens of each item

  Scenario: An unknown resource is a protocol error that names it
    When a client reads menu://yesterday
    Then it gets error -32602 with the uri

  Scenario: Every list has one page
    When a client asks a list for a cursor
    Then it gets error -32602

  Scenario: The week's special is a prompt
    When a client gets weekly_special in two weeks that follow
    Then each announces an item that can be had, not the same one

  Scenario: A catering reply is a prompt with arguments
    When a client gets catering_reply for an event and a number of people
    Then it names both and today's prices, and wrong arguments are error -32602

  Scenario: A notification gets no reply
    When a client sends a message without an id
    Then nothing comes back and nothing is done

  Scenario: A batch is refused
    When a client sends a list of requests
    Then it gets error -32600 and none of them has run

  Scenario: A client of the handshake era orders where the cart allows it
    Given a cart that also answers the handshake era
    When a client opens with initialize
    Then its requests need no _meta, and its results have what its revision knows
    And a request that names its version in _meta is answered as ever, from the same orders

  Scenario: Orders outlive the cart that took them
    Given a cart that keeps its orders in a file
    When it ends and another is started on the file
    Then orders, numbers and idempotency keys go on, and nobody but the owner can read the file

  Scenario: A cart that is killed has placed an order once or not at all
    Given an order on a cart that keeps its orders in a file
    When the process is killed between two calls, or while it places the order
    And place_order is sent to the next one with the same idempotency key
    Then one order is placed, and what was told before is still so

  Scenario: Two carts on one file number no two orders alike
    Given two processes on one file
    When both take orders at the same time
    Then none is lost, every number is given once, and each knows the other's idempotency keys

  Scenario: A file that is not the cart's is refused and stays as it was
    When a cart is started on a text, another program's database, a damaged file or a newer cart's
    Then it says which of these it is and what to do

  Scenario: A client orders over HTTP
    When a client posts its messages to /mcp
    Then results come as JSON, and an error has the status that goes with it

  Scenario: There are no sessions over HTTP
    When a client sends GET, DELETE or any method but POST
    Then it gets 405, and session headers are ignored

  Scenario: A request whose headers differ from its message is refused
    When Mcp-Method, Mcp-Name or MCP-Protocol-Version is missing, twice there or unlike the message
    Then the client gets 400 and error -32020, and no tool has run

  Scenario: A page of another site is refused
    When a browser's page of another origin, or under another host name, posts a message
    Then it gets 403

  Scenario: Each token has orders of its own
    Given a cart that wants bearer tokens
    When a request comes without one of them
    Then it gets 401 and where the cart is described as an OAuth resource
    And an order opens by the tokens of the one who started it only

  Scenario: A caller who calls too often is told when to try again
    Given a cart that allows 3 calls a minute
    When a caller makes a fourth
    Then it gets 429 with Retry-After, and other callers are not held up

  Scenario: A client that goes away has ordered nothing
    Given a place_order that waits for its turn
    When its client closes the connection
    Then the order is not placed

  Scenario: A client that cancels has ordered nothing
    Given a place_order on standard input that waits for its turn
    When its client sends notifications/cancelled with its id
    Then the order is not placed, and nothing is answered

  Scenario: A client of the handshake era orders over HTTP where the cart allows it
    Given a cart that also answers the handshake era
    When a client posts initialize, and then requests with that era's header
    Then they are answered without a session, and errors come with status 200 as that era's clients expect
